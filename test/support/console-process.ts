import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.js';

const PATIENCE_MS = 60_000;
/** The environment of the tests must not reach the process; an empty variable counts as none. */
const NEUTRAL = {
  REDIS_URL: '',
  DATABASE_URL: '',
  LC_ALL: '',
  LANG: '',
  NODE_OPTIONS: '',
  PORT: '0',
};

/** A program of this project, as a user starts it. */
export class ConsoleProcess {
  static readonly #running = new Set<ConsoleProcess>();

  /** For `afterEach`: whatever a failed spec left. */
  static async endAll(): Promise<void> {
    for (const running of ConsoleProcess.#running) await running.signal('SIGKILL');
  }

  readonly exited: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';

  /** With `detached` it has a process group of its own, as in a terminal: see `ctrlC`. */
  constructor(
    file: string,
    args: readonly string[],
    environment: NodeJS.ProcessEnv = {},
    { detached = false } = {},
  ) {
    this.#child = spawn(process.execPath, [file, ...args], {
      env: { ...process.env, ...NEUTRAL, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached,
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    ConsoleProcess.#running.add(this);
    this.exited = this.#end();
  }

  async #end(): Promise<number | NodeJS.Signals> {
    // 'close' and not 'exit': only then all output has been read, and no server holds it open.
    const [code, signal] = (await once(this.#child, 'close')) as [number, NodeJS.Signals | null];
    ConsoleProcess.#running.delete(this);
    return signal ?? code;
  }

  signal(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.#child.kill(signal);
    return this.exited;
  }

  /** Signals the whole group of a detached one, as a terminal does. */
  ctrlC(): Promise<number | NodeJS.Signals> {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGINT');
    return this.exited;
  }

  /** Waits for something to be said, and answers what the expression captures. */
  says(pattern: RegExp, { withinMs = PATIENCE_MS } = {}): Promise<string> {
    const said = eventually(
      () => {
        const match = pattern.exec(this.stdout + this.stderr);
        if (match === null) throw new Error(`not said: ${pattern}\n${this.stdout}${this.stderr}`);
        return match[1] ?? match[0];
      },
      { withinMs },
    );
    const over = this.exited.then((code) => {
      throw new Error(`ended with ${code} instead:\n${this.stdout}${this.stderr}`);
    });
    return Promise.race([said, over]);
  }
}
