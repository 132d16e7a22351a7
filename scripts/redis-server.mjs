// Runs before anything is installed: Node built-ins only.
import { spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findRedisServer } from './find-redis-server.mjs';

const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 2_000;
const PORT_ATTEMPTS = 20;
// Below the ephemeral ports of Linux and macOS: no outgoing connection takes such a port. A client
// that reconnects to a stopped server cannot be connected to itself by TCP.
const FIRST_PORT = 20_000;
const PORTS = 12_000;
/** Jest's workers, which share the ports. Most specs wait, so a core is not busy with two of them. */
export const WORKERS = 3 * availableParallelism();
const share = shareOfPorts();

/** @typedef {import('./find-redis-server.mjs').RedisBinary} RedisBinary */

/**
 * @typedef {object} RedisServerOptions
 * @property {number} [port] to start again on the port of a server that has ended; default: a free one
 * @property {string[]} [args] further arguments, after ours
 * @property {string} [dir] working folder, kept on stop; default: a temporary one, removed on stop
 */

/**
 * Starts a private server on 127.0.0.1 that keeps nothing on disk, and waits until it answers.
 * It ends with this process, however that ends.
 * @param {RedisServerOptions} [options]
 * @returns {Promise<RedisServer>}
 */
export async function startRedisServer(options = {}) {
  const binary = await findRedisServer();
  for (let attempt = 1; ; attempt += 1) {
    const server = await RedisServer.launch(binary, options.port ?? (await freePort()), options);
    if (await server.answers()) return server;
    const log = await server.log();
    await server.kill();
    const portLost = options.port === undefined && /address already in use/i.test(log);
    if (!portLost || attempt === PORT_ATTEMPTS)
      throw new Error(`${binary.command} did not start on port ${server.port}: ${log.trim()}`);
  }
}

/** @type {Set<RedisServer>} */
const running = new Set();
process.on('exit', () => {
  for (const server of running) server.endNow();
});

/** A running server that belongs to this process alone. */
export class RedisServer {
  host = '127.0.0.1';
  #child;
  #watcher;
  #folder;
  #temporary;
  #exited;
  #lastLog = '';

  /**
   * @param {RedisBinary} binary
   * @param {number} port
   * @param {RedisServerOptions} options
   */
  static async launch(binary, port, options) {
    const folder = options.dir ?? (await mkdtemp(join(tmpdir(), 'redis-')));
    return new RedisServer(binary, port, options, folder);
  }

  /**
   * @param {RedisBinary} binary
   * @param {number} port
   * @param {RedisServerOptions} options
   * @param {string} folder
   */
  constructor(binary, port, options, folder) {
    this.port = port;
    this.url = `redis://${this.host}:${port}`;
    this.#folder = folder;
    this.#temporary = options.dir === undefined;
    const log = openSync(this.#logFile, 'w');
    this.#child = spawn(
      binary.command,
      [
        ...['--port', String(port), '--bind', this.host, '--dir', folder],
        ...['--save', '', '--appendonly', 'no', ...(options.args ?? [])],
      ],
      // A process group of its own: Ctrl-C goes to the caller, who may still need the server.
      { env: { ...process.env, ...binary.env }, stdio: ['ignore', log, log], detached: true },
    );
    closeSync(log);
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', resolve);
      this.#child.once('error', resolve);
    }).then(() => this.#cleanUp());
    this.pid = this.#child.pid ?? 0;
    if (this.pid !== 0) this.#watcher = watch(this.pid, this.#temporary ? folder : '');
    this.#child.unref();
    running.add(this);
  }

  /** Resolves when the process has ended and its temporary folder is gone. */
  get exited() {
    return this.#exited;
  }

  /** Ends the server as an operator would, or by force if it does not obey. */
  async stop() {
    this.#child.ref();
    this.resume();
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(force);
  }

  /** Ends the server as a crash would. */
  async kill() {
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Freezes the process: the kernel still accepts connections, but the server does not answer. */
  pause() {
    this.#child.kill('SIGSTOP');
  }

  resume() {
    this.#child.kill('SIGCONT');
  }

  /** Whether this very process answers within the time that a start may take. */
  async answers() {
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (running.has(this) && Date.now() < deadline) {
      const reply = await ask(this.host, this.port);
      // Another server may have won the port; one with a password, or without INFO, cannot tell.
      if (reply.includes(`process_id:${this.pid}\r`)) return true;
      if (/-NOAUTH|-ERR unknown/.test(reply) && running.has(this)) return true;
      await delay(3);
    }
    return false;
  }

  /** The output of the server; also after its end. */
  async log() {
    if (running.has(this)) return this.#readLog();
    await this.#exited;
    return this.#lastLog;
  }

  /** Synchronous, for the 'exit' event of this process. */
  endNow() {
    this.#watcher?.kill('SIGKILL');
    this.#child.kill('SIGKILL');
    if (this.#temporary) rmSync(this.#folder, { recursive: true, force: true });
  }

  async #readLog() {
    return readFile(this.#logFile, 'utf8').catch(() => '');
  }

  get #logFile() {
    return join(this.#folder, 'redis.log');
  }

  async #cleanUp() {
    running.delete(this);
    this.#watcher?.kill('SIGKILL');
    this.#lastLog = await this.#readLog();
    if (this.#temporary) await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * The 'exit' event does not come when a signal ends this process. So a shell holds a pipe from it,
 * and ends the other process when the pipe closes.
 * @param {number} pid
 * @param {string} folder
 */
export function watch(pid, folder) {
  const script = 'trap "" INT TERM HUP; read -r _; kill -9 "$1"; [ -z "$2" ] || rm -rf -- "$2"';
  const watcher = spawn('/bin/sh', ['-c', script, 'redis-watcher', String(pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.on('error', () => undefined);
  /** @type {import('node:net').Socket} */ (watcher.stdin).unref();
  watcher.unref();
  return watcher;
}

/**
 * @param {string} host
 * @param {number} port
 * @returns {Promise<string>} the INFO of the server, or '' without an answer
 */
function ask(host, port) {
  return new Promise((resolve) => {
    let reply = '';
    const socket = createConnection({ host, port, timeout: 500 });
    socket.setEncoding('latin1');
    socket.on('connect', () => socket.write('PING\r\nINFO server\r\nQUIT\r\n'));
    socket.on('data', (text) => (reply += String(text)));
    socket.on('timeout', () => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(/^(\+PONG|-NOAUTH)/.test(reply) ? reply : '');
    });
  });
}

/**
 * A port without a listener, which no outgoing connection takes. A process gets each port once: the
 * server may only be down for a moment.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = share.first + (share.drawn++ % share.size);
    const probe = createServer();
    /** @type {boolean} */
    const free = await new Promise((resolve) => {
      probe.once('error', () => {
        resolve(false);
      });
      probe.listen(port, '127.0.0.1', () =>
        probe.close(() => {
          resolve(true);
        }),
      );
    });
    if (free) return port;
  }
}

/** The ports of this process. Each Jest worker has its own, so that they do not take each other's. */
function shareOfPorts() {
  const size = Math.floor(PORTS / WORKERS);
  const worker = (Number(process.env.JEST_WORKER_ID) || 1) - 1;
  const first = FIRST_PORT + (worker % WORKERS) * size;
  return { first, size, drawn: Math.floor(Math.random() * size) };
}
