import { fork, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { compiled } from '../compile.mjs';
import { watch } from '../redis-server.mjs';

/** Longer than the shutdown of any example takes. */
const END_TIMEOUT_MS = 20_000;
const ORPHAN = new URL('orphan.mjs', import.meta.url).href;
const QUICK_START = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', '-Xmx128m'];

/** A process of an example. Each line that it prints is shown with its name before it. */
export class Instance {
  /** @type {string[]} */
  #lines = [];
  /** @type {Set<() => void>} */
  #readers = new Set();
  #child;
  #exited;
  #isEnding = false;

  /**
   * @param {string} name
   * @param {URL} file TypeScript
   * @param {NodeJS.ProcessEnv} env
   */
  static node(name, file, env) {
    const execArgv = ['--enable-source-maps', '--import', ORPHAN];
    const stdio = /** @type {const} */ (['ignore', 'pipe', 'pipe', 'ipc']);
    return new Instance(name, fork(compiled(file), [], { env, execArgv, stdio: [...stdio] }));
  }

  /**
   * @param {string} name
   * @param {string} file Java, which `java` compiles
   * @param {string} classPath
   * @param {NodeJS.ProcessEnv} env
   */
  static java(name, file, classPath, env) {
    const args = [...QUICK_START, '-cp', classPath, file];
    const child = spawn('java', args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const watcher = child.pid === undefined ? undefined : watch(child.pid, '');
    child.once('exit', () => watcher?.kill('SIGKILL'));
    return new Instance(name, child);
  }

  /**
   * @param {string} name
   * @param {import('node:child_process').ChildProcess} child
   */
  constructor(name, child) {
    this.name = name;
    this.#child = child;
    this.#show(child.stdout, process.stdout);
    this.#show(child.stderr, process.stderr);
    this.#exited = new Promise((/** @type {(end: string | number) => void} */ resolve) => {
      child.once('error', ({ message }) => {
        resolve(message);
      });
      child.once('close', (code, signal) => {
        resolve(signal ?? code ?? '');
      });
    });
    this.over = this.#over();
    this.over.catch(() => undefined);
  }

  /** Resolves with the first line. */
  get ready() {
    return this.says(/.*/);
  }

  /**
   * Resolves with what the pattern finds in a line of now or later; rejects when the process ends
   * without one.
   * @param {RegExp} pattern
   * @returns {Promise<string>}
   */
  says(pattern) {
    const said = new Promise((/** @type {(found: string) => void} */ resolve) => {
      let read = 0;
      const reader = () => {
        for (; read < this.#lines.length; read += 1) {
          const found = pattern.exec(this.#lines[read] ?? '');
          if (found === null) continue;
          this.#readers.delete(reader);
          resolve(found[0]);
          return;
        }
      };
      this.#readers.add(reader);
      reader();
    });
    const silent = this.over.then(() => {
      throw new Error(`${this.name} ended`);
    });
    return Promise.race([said, silent]);
  }

  /** Ends the process as an operator does, or by force if it does not obey. */
  async end() {
    this.#isEnding = true;
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), END_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(force);
  }

  /** Rejects when the process fails. */
  async #over() {
    const end = await this.#exited;
    if (end !== 0 && !this.#isEnding) throw new Error(`${this.name} ended with ${end}`);
  }

  /**
   * @param {import('node:stream').Readable | null} input
   * @param {NodeJS.WriteStream} output
   */
  #show(input, output) {
    if (input === null) return;
    createInterface(input).on('line', (line) => {
      output.write(`[${this.name}] ${line}\n`);
      this.#lines.push(line);
      for (const read of this.#readers) read();
    });
  }
}
