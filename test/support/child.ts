import { afterEach } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { compiled } from '../../scripts/compile.mjs';
import type { FromWorker, RemoteError, ToWorker, WorkerApi } from './worker.js';

const START_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 5_000;

export interface WorkerOptions {
  env?: Record<string, string>;
  /** Options of node, such as `--expose-gc`. */
  execArgv?: string[];
}

export interface WorkerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

type Calls<Api extends WorkerApi> = {
  [Verb in keyof Api]: (...args: Parameters<Api[Verb]>) => Promise<Awaited<ReturnType<Api[Verb]>>>;
};

/** A process of its own that runs a TypeScript file which ends with `serve(api)`. */
export class Worker<Api extends WorkerApi> {
  /** The functions of the worker's api, each answering by a promise. */
  readonly call: Calls<Api>;
  /** The worker reported these values by `report(value)`, in order. */
  readonly reports: unknown[] = [];
  /** Promises of the worker that were rejected and not handled. */
  readonly unhandled: Error[] = [];
  readonly exited: Promise<WorkerExit>;
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #pending = new Map<
    number,
    { resolve: (v: unknown) => void; reject: (e: Error) => void }
  >();
  #calls = 0;
  #stderr = '';

  constructor(file: URL, { env = {}, execArgv = [] }: WorkerOptions = {}) {
    this.#child = fork(compiled(file), [], {
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      execArgv: ['--enable-source-maps', ...execArgv],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.exited = this.#end();
    this.ready = this.#start();
    this.ready.catch(() => undefined);
    this.call = new Proxy({} as Calls<Api>, {
      get:
        (_, verb) =>
        (...args: unknown[]) =>
          this.#invoke(String(verb), args),
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Freezes the process, as a long garbage collection or a suspended machine would. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<WorkerExit> {
    this.#child.kill('SIGKILL');
    return this.exited;
  }

  /** Lets the process end by itself; rejects if something in it (a timer, a socket) does not. */
  async end(withinMs = END_TIMEOUT_MS): Promise<WorkerExit> {
    this.#send({ kind: 'end' });
    const patience = new AbortController();
    const exit = await Promise.race([
      this.exited,
      delay(withinMs, null, { signal: patience.signal }).catch(() => null),
    ]);
    patience.abort();
    if (exit) return exit;
    await this.kill();
    throw new Error(`The worker was still alive ${withinMs} ms after its end; something is left`);
  }

  async #start(): Promise<void> {
    const patience = new AbortController();
    const ready = new Promise<'ready'>((resolve) => {
      this.#child.on('message', (message: FromWorker) => {
        if (message.kind === 'ready') resolve('ready');
        else this.#receive(message);
      });
    });
    const outcome = await Promise.race([
      ready,
      this.exited,
      delay(START_TIMEOUT_MS, null, { signal: patience.signal }).catch(() => null),
    ]);
    patience.abort();
    if (outcome === 'ready') return;
    const exit = await this.kill();
    throw new Error(`The worker did not start:\n${exit.stderr}`);
  }

  async #end(): Promise<WorkerExit> {
    // 'close' and not 'exit': only then all of stderr has been read.
    const [code, signal] = (await once(this.#child, 'close')) as [
      number | null,
      NodeJS.Signals | null,
    ];
    const exit = { code, signal, stderr: this.#stderr };
    for (const { reject } of this.#pending.values())
      reject(new Error(`The worker ended (${signal ?? code}):\n${exit.stderr}`));
    this.#pending.clear();
    return exit;
  }

  #receive(message: Exclude<FromWorker, { kind: 'ready' }>): void {
    if (message.kind === 'report') {
      this.reports.push(message.value);
    } else if (message.kind === 'unhandled') {
      this.unhandled.push(revive(message.error));
    } else {
      const call = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      if (message.kind === 'result') call?.resolve(message.value);
      else call?.reject(revive(message.error));
    }
  }

  #invoke(verb: string, args: unknown[]): Promise<unknown> {
    const id = (this.#calls += 1);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      if (this.#child.connected) this.#send({ kind: 'call', id, verb, args });
      else reject(new Error(`The worker has ended; "${verb}" was not called`));
    });
  }

  #send(message: ToWorker): void {
    // A failed send is an ended worker, which `exited` tells.
    this.#child.send(message, () => undefined);
  }
}

export interface WorkerHerd {
  start<Api extends WorkerApi>(file: URL, options?: WorkerOptions): Promise<Worker<Api>>;
}

/**
 * Starts workers for the specs of a file. After each of them every worker is ended, and the spec
 * fails if a worker left a rejected promise unhandled, or crashed without having been killed.
 */
export function useWorkers(): WorkerHerd {
  const workers = new Set<Worker<WorkerApi>>();

  afterEach(async () => {
    const herd = [...workers];
    workers.clear();
    const exits = await Promise.all(herd.map((worker) => worker.kill()));
    const errors = herd.flatMap((worker) => worker.unhandled);
    if (errors.length > 0) throw new AggregateError(errors, 'Unhandled rejections in workers');
    const crash = exits.find(({ code }) => code !== null && code !== 0);
    if (crash) throw new Error(`A worker crashed with code ${crash.code}:\n${crash.stderr}`);
    for (const { pid } of herd) if (isAlive(pid)) throw new Error(`Worker ${pid} is still alive`);
  });

  return {
    async start<Api extends WorkerApi>(file: URL, options?: WorkerOptions) {
      const worker = new Worker<Api>(file, options);
      workers.add(worker);
      await worker.ready;
      return worker;
    },
  };
}

/** Whether a process runs or is stopped. An ended process whose parent has not waited for it is not alive. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    // The state follows the name, which is in parentheses and may hold anything.
    return !/\) [ZX] [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return process.platform !== 'linux';
  }
}

function revive({ name, message, code, stack }: RemoteError): Error {
  const error = Object.assign(new Error(message), { name, code });
  if (stack !== undefined) error.stack = stack;
  return error;
}
