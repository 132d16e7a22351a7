import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { eventually } from '../support/eventually.js';
import type { RedisFixture } from '../support/redis-server.js';
import type { TraceStep } from '../support/wire/trace.js';
import {
  Aliases,
  AS_TEXT,
  PERMIT,
  readKeys,
  revealMember,
  type Eavesdropper,
  type WireKeys,
  type WireMessage,
} from '../support/wire/wire-state.js';
import { MS, subscriptions } from './sides.js';
import { JavaError, type JavaObject, type JavaValue, type Redisson } from './redisson.js';

/** So many looks in a row at the same state mean that nothing more comes. */
const STILL_LOOKS = 4;
const LOOK_EVERY_MS = 25;

type Target = JavaObject | readonly [JavaObject, string | readonly string[]];
interface Waiting {
  readonly label: string;
  readonly answer: Promise<unknown>;
  over: boolean;
}

/**
 * Where a scenario is played by Redisson alone. After every step it writes down what is in Redis.
 * The thread B is in a process of its own, all others are in another.
 */
export class Stage {
  readonly steps: TraceStep[] = [];
  readonly #aliases = new Aliases();
  readonly #waiting = new Map<string, Waiting>();
  #keys: WireKeys = {};
  #listening: readonly string[] = [];

  constructor(
    private readonly redis: RedisFixture,
    private readonly ears: Eavesdropper,
    private readonly processes: readonly [others: Redisson, ofB: Redisson],
  ) {}

  /** A call that ends by itself. */
  async call(thread: string, target: Target, method: string, ...args: JavaValue[]): Promise<void> {
    const { label, answer } = await this.#begin(thread, target, method, args);
    await this.#write(label, await answer);
  }

  /** A call that waits for another caller; `goesOn` is its end. */
  async waits(thread: string, target: Target, method: string, ...args: JavaValue[]): Promise<void> {
    const before = await subscriptions(this.redis);
    const begun = await this.#begin(thread, target, method, args);
    const waiting: Waiting = { ...begun, over: false };
    void waiting.answer.then(() => (waiting.over = true));
    this.#waiting.set(thread, waiting);
    await eventually(async () => (await subscriptions(this.redis)) > before);
    await this.#processOf(thread).parked(thread);
    await this.#write(`${waiting.label} waits`);
    if (waiting.over) throw new Error(`"${waiting.label}" did not wait`);
  }

  /** The process of the thread sees nothing of what comes, until the thread goes on. */
  pause(thread: string): void {
    this.#processOf(thread).pause();
  }

  async goesOn(thread: string): Promise<void> {
    this.#processOf(thread).resume();
    const waiting = this.#waiting.get(thread);
    if (!waiting) throw new Error(`${thread} does not wait`);
    this.#waiting.delete(thread);
    await this.#write(`${waiting.label} goes on`, await waiting.answer);
  }

  /** Something that time does: the key ends. */
  async ends(key: string): Promise<void> {
    const name = this.#aliases.reveal(key);
    await this.redis.admin.pexpire(name, 1);
    await eventually(async () => (await this.redis.admin.exists(name)) === 0);
    await this.#write(`time ends ${key}`);
  }

  /** Something that time does: the score of the member is in the past. */
  async lapses(key: string, member: string): Promise<void> {
    const past = Date.now() - 1_000;
    for (const form of [member, `${member}${AS_TEXT}`])
      await this.redis.admin.zadd(key, 'XX', past, revealMember(form, this.#aliases));
    await this.#write(`time ends ${member} of ${key}`);
  }

  async #begin(thread: string, target: Target, method: string, args: readonly JavaValue[]) {
    const java = this.#processOf(thread);
    if (!this.#aliases.valueOf(thread)) this.#aliases.set(thread, await java.owner(thread));
    const [object, name] = typeof target === 'string' ? ([target, 'a'] as const) : target;
    const shown = args
      .filter((arg) => arg !== MS)
      .map((arg) => `${Array.isArray(arg) ? `[${arg.join(', ')}]` : arg}`);
    const label = `${thread}: ${object}.${method}(${shown.join(', ')})`;
    const values = args.map((arg) => this.#reveal(arg));
    const answer = java.call(thread, [object, name], method, ...values).then(
      (value) => this.#hide(value),
      (error: unknown) => {
        if (!(error instanceof JavaError) || error.type === 'NoSuchMethodException') throw error;
        return `throws ${error.type}`;
      },
    );
    return { label, answer };
  }

  async #write(label: string, answer: unknown = null): Promise<void> {
    const { keys, listening, messages } = await this.#settled();
    this.steps.push({
      do: label,
      ...(answer !== null && { answer }),
      ...(!isDeepStrictEqual(keys, this.#keys) && { keys }),
      ...(messages.length > 0 && { messages }),
      ...(!isDeepStrictEqual(listening, this.#listening) && { listening }),
    });
    this.#keys = keys;
    this.#listening = listening;
  }

  async #settled() {
    const messages: WireMessage[] = [];
    let seen = await this.#look();
    for (let looks = 1; looks < STILL_LOOKS;) {
      await delay(LOOK_EVERY_MS);
      for (const [channel, payload] of await this.ears.take())
        messages.push([this.#aliases.hide(channel), payload]);
      const now = await this.#look();
      looks = isDeepStrictEqual(now, seen) ? looks + 1 : 1;
      seen = now;
    }
    return { ...seen, messages };
  }

  async #look() {
    const keys = await readKeys(this.redis.admin, this.#aliases);
    const channels = await this.redis.wakeUpChannels();
    return { keys, listening: channels.map((channel) => this.#aliases.hide(channel)).sort() };
  }

  #processOf(thread: string): Redisson {
    return this.processes[thread === 'B' ? 1 : 0];
  }

  #reveal(arg: JavaValue): JavaValue {
    if (Array.isArray(arg)) return arg.map((each) => this.#reveal(each));
    return typeof arg === 'string' ? this.#aliases.reveal(arg) : arg;
  }

  #hide(value: JavaValue): unknown {
    const texts = [value].flat().filter((each) => typeof each === 'string');
    this.#aliases.addPermits(texts.filter((text) => PERMIT.test(text)));
    if (Array.isArray(value)) return value.map((each) => this.#aliases.hide(String(each)));
    return typeof value === 'string' ? this.#aliases.hide(value) : value;
  }
}
