import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { eventually } from '../support/eventually.js';
import type { RedisFixture } from '../support/redis-server.js';

const WATCHDOG_MS = 30_000;

/** A method of Redisson takes and gives such values, as far as they are text. */
export type JavaValue = null | boolean | number | string | JavaValue[];

/** The kind of an object: what follows `get` in Redisson's factory methods, and the two of a pair. */
export type JavaObject =
  | 'lock'
  | 'fairLock'
  | 'fencedLock'
  | 'spinLock'
  | 'multiLock'
  | 'readLock'
  | 'writeLock'
  | 'semaphore'
  | 'permitExpirableSemaphore'
  | 'countDownLatch';

/** A method of Redisson threw this, by the simple name of its class. */
export class JavaError extends Error {
  constructor(
    readonly type: string,
    message: string,
  ) {
    super(`${type}: ${message}`);
  }
}

interface Answer {
  readonly client?: string;
  readonly id: number;
  readonly value?: JavaValue;
  readonly error?: { type: string; message: string };
}

/** A Java process with one Redisson client; `java/src/Bridge.java` is its other side. */
export class Redisson {
  /** The version of this run. */
  static readonly version = process.env.REDISSON_VERSION ?? '';
  /** It knows no fenced lock, and writes permits as text where later ones write bytes. */
  static readonly is316 = Redisson.version.startsWith('3.16.');
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exited: Promise<unknown>;
  readonly #pending = new Map<
    number,
    { resolve: (value: JavaValue) => void; reject: (error: Error) => void }
  >();
  #calls = 0;
  #round = 0;
  #client = '';
  #stderr = '';

  private constructor(url: string, watchdogMs: number) {
    const classPath = process.env.REDISSON_CLASSPATH;
    if (!classPath) throw new Error('Run "npm run interop": it builds the Java side.');
    const quickStart = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto', '-Xmx128m'];
    const args = [...quickStart, '-cp', classPath, 'Bridge', url, String(watchdogMs)];
    this.#child = spawn('java', args, { stdio: 'pipe' });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.#child.stdin.on('error', () => undefined);
    this.#exited = once(this.#child, 'close').then(() => {
      for (const { reject } of this.#pending.values())
        reject(new Error(`The Java process ended:\n${this.#stderr}`));
      this.#pending.clear();
    });
  }

  static async start(url: string, watchdogMs = WATCHDOG_MS): Promise<Redisson> {
    const java = new Redisson(url, watchdogMs);
    const client = new Promise<string>((resolve) => {
      createInterface(java.#child.stdout).on('line', (line) => {
        const answer = JSON.parse(line) as Answer;
        if (answer.client === undefined) java.#receive(answer);
        else resolve(answer.client);
      });
    });
    const started = await Promise.race([client, java.#exited]);
    if (typeof started !== 'string')
      throw new Error(`The Java process did not start:\n${java.#stderr}`);
    java.#client = started;
    return java;
  }

  /** The id of its Redisson client, which begins each of its owners. */
  get client(): string {
    return this.#client;
  }

  /** Calls a method of an object, in the thread of that name; calls of one thread take turns. */
  call<T extends JavaValue = JavaValue>(
    thread: string,
    [object, name]: readonly [
      JavaObject | 'owner' | 'isParked' | 'load',
      string | readonly string[],
    ],
    method: string,
    ...args: readonly JavaValue[]
  ): Promise<T> {
    const id = (this.#calls += 1);
    const call = { id, thread: `${this.#round}/${thread}`, object, name, method, args };
    return new Promise<JavaValue>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(call)}\n`);
    }) as Promise<T>;
  }

  /** The thread as the holder of a lock. */
  owner(thread: string): Promise<string> {
    return this.call<string>(thread, ['owner', ''], '');
  }

  /**
   * Until the thread sleeps in its wait for a message. That it listens is not enough: of a message
   * that lets several in, Redisson wakes those up that sleep at that moment.
   */
  async parked(thread: string): Promise<void> {
    await eventually(() => this.call<boolean>(thread, ['isParked', ''], ''));
  }

  /** From here on the names mean new threads. */
  newThreads(): void {
    this.#round += 1;
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Ends the process as a crash would. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #receive({ id, value = null, error }: Answer): void {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) call?.reject(new JavaError(error.type, error.message));
    else call?.resolve(value);
  }
}

export interface JavaFixture {
  /** The client of the whole file; every spec has threads of its own. */
  readonly current: Redisson;
  /** Another process, for this spec only: one that may be killed, or that has a short watchdog. */
  start(watchdogMs?: number): Promise<Redisson>;
}

/**
 * Redisson for the specs of a file. Call it before `useLocks`, which finds its connections too, but
 * not as leftovers.
 */
export function useRedisson(redis: RedisFixture): JavaFixture {
  const started = new Set<Redisson>();
  let current: Redisson | undefined;
  beforeAll(async () => {
    current = await Redisson.start(redis.url);
  });
  beforeEach(() => {
    current?.newThreads();
  });
  afterEach(async () => {
    const others = [...started];
    started.clear();
    await Promise.all(others.map((java) => java.kill()));
  });
  afterAll(() => current?.kill());
  return {
    get current() {
      if (!current) throw new Error('Redisson is there from beforeAll on');
      return current;
    },
    async start(watchdogMs) {
      const java = await Redisson.start(redis.url, watchdogMs);
      started.add(java);
      return java;
    },
  };
}
