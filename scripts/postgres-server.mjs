// Runs before anything is installed: Node built-ins only.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { copy, Workplace } from './postgres-binaries.mjs';
import { preparePostgres } from './postgres-template.mjs';
import { freePort } from './redis-server.mjs';

export { NoPostgresServerError } from './postgres-binaries.mjs';
export { preparePostgres } from './postgres-template.mjs';

const HOST = '127.0.0.1';
const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 5_000;
const PORT_ATTEMPTS = 20;

/** The data lives as long as the server: nothing has to survive a crash of the machine. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  listen_addresses: HOST,
  unix_socket_directories: '',
  max_connections: '250',
  shared_buffers: '32MB',
  // Worker processes would read no faster from a cache of the system.
  io_method: 'sync',
};

/**
 * Starts a private server on 127.0.0.1 with an empty database, and waits until it answers. It ends
 * with this process, however that ends, and its data with it.
 * @returns {Promise<PostgresServer>}
 * @throws {import('./postgres-binaries.mjs').NoPostgresServerError}
 */
export async function startPostgresServer() {
  const template = await preparePostgres();
  const password = await readFile(join(template, 'password'), 'utf8');
  for (let attempt = 1; ; attempt += 1) {
    const server = await PostgresServer.launch(template, password, await freePort());
    if (await server.answers()) return server;
    const log = await server.log();
    await server.kill();
    const portLost = /address already in use/i.test(log);
    if (!portLost || attempt === PORT_ATTEMPTS)
      throw new Error(`Postgres did not start on port ${server.port}: ${log.trim()}`);
  }
}

/** A running server that belongs to this process alone. */
export class PostgresServer {
  host = HOST;
  #workplace;
  #watcher;
  #child;
  #exited;
  #hasExited = false;
  #log = '';

  /**
   * @param {string} template
   * @param {string} password
   * @param {number} port
   */
  static async launch(template, password, port) {
    const workplace = await Workplace.make();
    // Before the copy: this process may end while it copies.
    const watcher = watch(workplace.folder);
    try {
      await copy(join(template, 'data'), workplace.folder);
      await workplace.handOver();
      return new PostgresServer(workplace, watcher, password, port);
    } catch (error) {
      await workplace.remove();
      watcher.kill('SIGKILL');
      throw error;
    }
  }

  /**
   * @param {Workplace} workplace
   * @param {ReturnType<typeof watch>} watcher
   * @param {string} password
   * @param {number} port
   */
  constructor(workplace, watcher, password, port) {
    this.port = port;
    this.url = `postgres://postgres:${password}@${HOST}:${port}/postgres`;
    this.#workplace = workplace;
    this.#watcher = watcher;
    const log = openSync(this.#logFile, 'w');
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    this.#child = spawn(
      workplace.command('postgres'),
      ['-D', workplace.data, '-p', String(port), ...settings],
      // A process group of its own: Ctrl-C goes to the caller, who may still need the server.
      { ...workplace.spawnOptions, stdio: ['ignore', log, log], detached: true },
    );
    closeSync(log);
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', resolve);
      this.#child.once('error', resolve);
    }).then(() => this.#cleanUp());
    this.pid = this.#child.pid ?? 0;
    if (this.pid !== 0) watcher.stdin.write(`${this.pid}\n`);
    this.#child.unref();
  }

  /** Resolves when the process has ended and its folder is gone. */
  get exited() {
    return this.#exited;
  }

  /** Ends the server as an operator would: a fast shutdown, which ends the connections. */
  stop() {
    return this.#end('SIGINT');
  }

  /** Ends the server as a crash would: at once, without a checkpoint. */
  kill() {
    return this.#end('SIGQUIT');
  }

  /** Whether the server takes connections within the time that a start may take. */
  async answers() {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!this.#hasExited && Date.now() < deadline) {
      // Postgres notes its state in the eighth line, for pg_ctl.
      const lines = (await readOrNothing(join(this.#workplace.data, 'postmaster.pid'))).split('\n');
      if (lines[7]?.trim() === 'ready') return true;
      await delay(3);
    }
    return false;
  }

  /** The output of the server; also after its end. */
  async log() {
    if (!this.#hasExited) return readOrNothing(this.#logFile);
    await this.#exited;
    return this.#log;
  }

  get #logFile() {
    return join(this.#workplace.folder, 'postgres.log');
  }

  /** @param {NodeJS.Signals} signal */
  async #end(signal) {
    this.#child.ref();
    this.#child.kill(signal);
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(force);
  }

  async #cleanUp() {
    this.#hasExited = true;
    this.#log = await readOrNothing(this.#logFile);
    await this.#workplace.remove();
    this.#watcher.kill('SIGKILL');
  }
}

/**
 * The 'exit' event does not come when a signal ends this process. So a shell holds a pipe from it.
 * When the pipe closes, the shell ends the server, and removes the folder.
 * @param {string} folder
 */
function watch(folder) {
  const script = `
    trap "" INT TERM HUP
    read -r pid; read -r _
    if [ -n "$pid" ]; then
      kill -QUIT "$pid"
      for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e "$1/data/postmaster.pid" ] || break; sleep 0.1; done
      kill -9 "$pid"
    fi
    rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }`;
  const watcher = spawn('/bin/sh', ['-c', script, 'postgres-watcher', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.on('error', () => undefined);
  watcher.stdin.on('error', () => undefined);
  /** @type {import('node:net').Socket} */ (watcher.stdin).unref();
  watcher.unref();
  return watcher;
}

/** @param {string} file */
function readOrNothing(file) {
  return readFile(file, 'utf8').catch(() => '');
}
