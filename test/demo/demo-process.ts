import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { compiled } from '../../scripts/compile.mjs';
import { eventually } from '../support/eventually.js';

const DEMO = compiled(new URL('demo-main.ts', import.meta.url));
const PATIENCE_MS = 30_000;
/** The environment of the tests must not reach the demo; an empty variable counts as none. */
const NEUTRAL = {
  REDIS_URL: '',
  DATABASE_URL: '',
  LC_ALL: '',
  LANG: '',
  NODE_OPTIONS: '',
  PORT: '0',
};

/** `npm run demo` without the build: the sources as they are. */
export class DemoProcess {
  static readonly #running = new Set<DemoProcess>();

  static start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): DemoProcess {
    return new DemoProcess(args, environment);
  }

  /** For `afterEach`: whatever a failed spec left. */
  static async endAll(): Promise<void> {
    for (const demo of DemoProcess.#running) await demo.signal('SIGKILL');
  }

  readonly exited: Promise<number | NodeJS.Signals>;
  readonly #child: ChildProcess;
  stdout = '';
  stderr = '';

  private constructor(args: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, [DEMO, ...args], {
      env: { ...process.env, ...NEUTRAL, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    DemoProcess.#running.add(this);
    this.exited = this.#end();
  }

  async #end(): Promise<number | NodeJS.Signals> {
    // 'close' and not 'exit': only then all output has been read, and no server holds it open.
    const [code, signal] = (await once(this.#child, 'close')) as [number, NodeJS.Signals | null];
    DemoProcess.#running.delete(this);
    return signal ?? code;
  }

  signal(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.#child.kill(signal);
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
