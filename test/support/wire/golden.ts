import { afterEach, beforeEach, expect } from '@jest/globals';
import type { PermitLease } from 'nestjs-redis-lock/core';
import { FOREIGN_PERMIT } from '../redisson-permits.js';
import { FOREIGN_CLIENT } from '../redisson.js';
import type { RedisFixture } from '../redis-server.js';
import { readTrace, type TraceStep } from './trace.js';
import {
  Aliases,
  Eavesdropper,
  PERMIT,
  readKeys,
  withNoise,
  writeKeys,
  type WireKeys,
  type WireMessage,
} from './wire-state.js';

export interface GoldenOptions {
  /** Keys and channels that only we use, beside Redisson's; every such key has to have a TTL. */
  readonly ours?: RegExp;
  /** Redisson's keys that get a TTL by us and none by Redisson. */
  readonly mortal?: RegExp;
  /** Ours says it at once behind a message of Redisson's, by that. */
  readonly behind?: Readonly<Record<string, string>>;
}

/**
 * Where ours is meant to differ from Redisson after a step; what is given replaces the trace's, or is
 * made of it.
 */
export interface Difference {
  readonly keys?: WireKeys | ((redissons: WireKeys) => WireKeys);
  readonly messages?: readonly WireMessage[];
}

export interface Golden {
  /**
   * The steps that Redisson did. Play the same with ours and call `sees` after each; or put the
   * state after each and look what ours makes of it.
   */
  scenario(name: string): Promise<Replay>;
}

/**
 * The trace of a primitive, to be replayed on the server of the spec. Call it before `useLocks`. A
 * spec fails when it ends before its scenario does.
 */
export function useGolden(
  redis: RedisFixture,
  primitive: string,
  { ours = /^$/, mortal = /^$/, behind = {} }: GoldenOptions = {},
): Golden {
  let ears: Eavesdropper;
  let open: Replay[] = [];
  beforeEach(async () => {
    ears = new Eavesdropper(redis.admin);
    await ears.start();
  });
  afterEach(() => {
    ears.stop();
    const replays = open;
    open = [];
    for (const replay of replays) replay.expectPlayedOut();
  });
  return {
    async scenario(name) {
      const steps = (await readTrace(primitive))?.scenarios[name];
      if (!steps) throw new Error(`The trace of ${primitive} has no "${name}"`);
      const replay = new Replay(redis, ears, { ours, mortal, behind }, steps);
      open.push(replay);
      return replay;
    },
  };
}

/** One scenario on its way from its first step to its last. */
export class Replay {
  readonly aliases = new Aliases();
  readonly #passed: WireMessage[] = [];
  #done = 0;
  #wasPut = false;
  #keys: WireKeys = {};

  constructor(
    private readonly redis: RedisFixture,
    private readonly ears: Eavesdropper,
    private readonly options: Required<GoldenOptions>,
    private readonly steps: readonly TraceStep[],
  ) {}

  /** Says who of ours the trace calls `A`. */
  owner(name: string, id: string): void {
    this.aliases.set(name, id);
  }

  /**
   * Our client plays the step, and `sees` what Redisson saw. An owner that gets a lease by it has the
   * name with which the step begins. Permits that it gets come next in the trace.
   */
  async plays<T>(step: string, played: T, difference?: Difference): Promise<Awaited<T>> {
    const got = await played;
    const { owner, permitIds } = (got ?? {}) as Partial<PermitLease>;
    if (permitIds?.every((id) => PERMIT.test(id))) this.aliases.addPermits(permitIds);
    else if (owner !== undefined) this.owner(step.charAt(0), owner);
    await this.sees(step, difference);
    return got;
  }

  /**
   * Our client played the step: Redis has to have the same keys and messages as with Redisson. Steps
   * that changed nothing may be left out.
   */
  async sees(step: string, difference: Difference = {}): Promise<void> {
    const { ours, mortal } = this.options;
    const passed = this.#passed.splice(0);
    const messages = this.#messagesOf({ ...this.#take(step), ...difference });
    const { keys: given = this.#keys } = difference;
    const keys = typeof given === 'function' ? given(this.#keys) : given;
    const seen = await readKeys(this.redis.admin, this.aliases);
    const heard = await this.ears.take();
    for (const [name, { ttl }] of Object.entries(seen))
      if (ours.test(name) || (mortal.test(name) && !this.#wasPut))
        expect([name, ttl > 0]).toEqual([name, true]);
    const shared = Object.entries(seen)
      .filter(([name]) => !ours.test(name))
      .map(([name, key]) => [name, mortal.test(name) ? { ...key, ttl: -1 } : key] as const);
    expect({
      step,
      keys: withNoise(Object.fromEntries(shared), keys),
      messages: heard
        .filter(([channel]) => !ours.test(channel))
        .map(([channel, payload]) => [this.aliases.hide(channel), payload]),
    }).toEqual({ step, keys, messages: [...passed, ...messages] });
  }

  /** Ours leaves the state after this step too soon to be seen; its messages count to the next. */
  passes(step: string, difference: Pick<Difference, 'messages'> = {}): void {
    const messages = this.#messagesOf({ ...this.#take(step), ...difference });
    this.#passed.push(...messages);
  }

  /** Puts into Redis what Redisson has there after the step, and publishes what it publishes. */
  async put(step: string): Promise<void> {
    const before = this.#keys;
    this.#wasPut = true;
    const { messages = [] } = this.#take(step);
    for (const name of foreignNames(this.steps)) {
      if (this.aliases.valueOf(name) === undefined) this.owner(name, foreignId(name));
    }
    await writeKeys(this.redis.admin, before, this.#keys, this.aliases);
    for (const [channel, payload] of messages)
      await this.redis.admin.publish(this.aliases.reveal(channel), payload);
    await this.ears.take();
  }

  expectPlayedOut(): void {
    const left = this.steps.slice(this.#done).filter(changes);
    if (left.length > 0) throw new Error(`The spec ended before "${left[0]?.do ?? ''}"`);
  }

  #messagesOf({ messages = [] }: Pick<Difference, 'messages'>): WireMessage[] {
    return messages.flatMap(([channel, payload]): WireMessage[] => {
      const next = this.options.behind[payload];
      return [[channel, payload], ...(next === undefined ? [] : [[channel, next] as WireMessage])];
    });
  }

  #take(step: string): TraceStep {
    const at = this.steps.findIndex((each, i) => i >= this.#done && each.do === step);
    const skipped = this.steps.slice(this.#done, at).filter(changes);
    const found = this.steps[at];
    if (!found || skipped.length > 0)
      throw new Error(`The next step is "${this.steps[this.#done]?.do ?? 'none'}", not "${step}"`);
    this.#done = at + 1;
    this.#keys = found.keys ?? this.#keys;
    return found;
  }
}

function changes({ keys, messages }: TraceStep): boolean {
  return keys !== undefined || messages !== undefined;
}

/** Every alias in the steps: `A`, `B`, `permit 1`, … */
function foreignNames(steps: readonly TraceStep[]): string[] {
  const text = JSON.stringify(steps);
  return [...new Set([...text.matchAll(/<([A-Z]|permit \d+)>/g)].map(([, name = '']) => name))];
}

function foreignId(name: string): string {
  const number = name.charCodeAt(0);
  const permit = /\d+$/.exec(name)?.[0];
  return permit
    ? `${FOREIGN_PERMIT}${permit.padStart(24, 'b4a5968778695a4b3c2d1e0f')}`
    : `${FOREIGN_CLIENT}:${number}`;
}
