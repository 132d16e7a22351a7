import type { AsyncResource } from 'node:async_hooks';

import type { Reply } from '../core/redis/connection.js';
import type { Script, ScriptCall } from '../core/redis/script.js';
import { hashTag } from './hash-slot.js';

/**
 * The most calls in one EVALSHA. Measured with 64 callers on 64 keys, in acquisitions and releases
 * a second: 8 made 127,000, 16 148,000, 32 124,000. 64 made 78,000, because client and server then
 * wait for each other.
 */
export const MOST_CALLS = 16;

/**
 * One call, until it is answered. A literal: V8 drops compiled code with the last instance of a
 * class.
 */
export interface Call extends ScriptCall {
  readonly script: Script<string, string, unknown>;
  /**
   * Whether it has the keys and arguments that its script declares. Calls that travel together must
   * have them.
   */
  readonly isUniform: boolean;
  readonly resolve: (reply: Reply<never>) => void;
  readonly reject: (error: unknown) => void;
  /** The time of the first send, and the number of broken connections by then. */
  sentAt: number;
  breaks: number;
  /** Its async context, if it waits for the answer to another call. */
  scope: AsyncResource | undefined;
}

/** The calls of one EVALSHA, all of one script. */
export type Batch = [Call, ...Call[]];

/**
 * Decides which calls travel together, and which wait. Calls with the same first key are sent in
 * order. Calls of `inOrder` scripts keep their order also when the client sends again. A call that
 * cannot join the batch ahead of it waits for its answer.
 */
export class CallOrder {
  /** By first key, for scripts that are `inOrder`: the batch on its way, and the calls behind it. */
  readonly #ahead = new Map<string, Batch>();
  readonly #behind = new Map<string, Call[]>();

  constructor(readonly isCluster: boolean) {}

  /** For a call that is `inOrder`. */
  hasToWait(call: Call): boolean {
    const key = firstKeyOf(call);
    return this.#ahead.has(key) || this.#behind.has(key);
  }

  wait(call: Call): void {
    addTo(this.#behind, call);
  }

  /** Adds a single call that is `inOrder` and does not have to wait. */
  lead(batch: Batch): void {
    this.#ahead.set(firstKeyOf(batch[0]), batch);
  }

  /**
   * Splits calls into batches, in the order of their first calls. No call joins a batch that would
   * overtake another call with its first key. Calls that are `inOrder` join the batch ahead of
   * them, or stay behind it.
   */
  batchesOf(calls: readonly Call[], most = MOST_CALLS): readonly Batch[] {
    const batches: Batch[] = [];
    /** The position of the last batch of each group, and of the last batch with each first key. */
    const lastOf = new Map<string, number>();
    const lastWith = new Map<string, number>();
    const staying = new Map<string, Call[]>();
    for (const call of calls) {
      const key = firstKeyOf(call);
      const group = call.isUniform ? this.#groupOf(call) : undefined;
      let index = (group === undefined ? undefined : lastOf.get(group)) ?? -1;
      if (index < (lastWith.get(key) ?? 0) || batches[index]?.length === most) {
        index = batches.length;
      }
      const batch = batches[index];
      if (call.script.inOrder && this.#staysBehind(batch, key, staying)) {
        addTo(staying, call);
        continue;
      }
      if (batch === undefined) batches.push([call]);
      else batch.push(call);
      if (group !== undefined) lastOf.set(group, index);
      lastWith.set(key, index);
      if (call.script.inOrder) this.#ahead.set(key, batches[index] as Batch);
    }
    for (const [key, some] of staying) {
      this.#behind.set(key, some.concat(this.#behind.get(key) ?? []));
    }
    return batches;
  }

  /** Each call goes alone. The calls of one key that are `inOrder` go one behind the other. */
  splitUp(batch: Batch): readonly Batch[] {
    this.#leave(batch);
    return this.batchesOf(batch, 1);
  }

  /** Ends a batch that is answered. The returned calls go on, before later ones. */
  end(batch: Batch): readonly Call[] {
    return this.#leave(batch).flatMap((key) => this.#next(key));
  }

  /** Removes calls that failed before they were sent. The returned calls go on. */
  skip(calls: readonly Call[]): readonly Call[] {
    return calls.filter(isInOrder).flatMap((call) => this.#next(firstKeyOf(call)));
  }

  #staysBehind(batch: Batch | undefined, key: string, staying: Map<string, Call[]>): boolean {
    const ahead = this.#ahead.get(key);
    return staying.has(key) || (ahead !== undefined && ahead !== batch);
  }

  /** The keys for which this batch was ahead. */
  #leave(batch: Batch): string[] {
    const keys = batch.filter(isInOrder).map(firstKeyOf);
    return keys.filter((key) => this.#ahead.get(key) === batch && this.#ahead.delete(key));
  }

  /** Only the calls that fit: thousands may be behind them. */
  #next(key: string): readonly Call[] {
    const behind = this.#behind.get(key) ?? [];
    const next = behind.splice(0, MOST_CALLS);
    if (behind.length === 0) this.#behind.delete(key);
    return next;
  }

  /** Calls of one group may travel together, if they have the declared keys and arguments. */
  #groupOf(call: Call): string {
    return this.isCluster ? `${call.sha1} ${hashTag(firstKeyOf(call))}` : call.sha1;
  }
}

/** Batches of calls that can travel together in any number. */
export function cut(calls: Batch): readonly Batch[] {
  if (calls.length <= MOST_CALLS) return [calls];
  const batches: Batch[] = [];
  for (let from = 0; from < calls.length; from += MOST_CALLS) {
    batches.push(calls.slice(from, from + MOST_CALLS) as Batch);
  }
  return batches;
}

/** The calls of a batch are of one slot, in a Cluster: that of any of their keys. */
export function firstKeyOf({ keys }: Call): string {
  return keys[0] ?? '';
}

function isInOrder(call: Call): boolean {
  return call.script.inOrder;
}

function addTo(calls: Map<string, Call[]>, call: Call): void {
  const key = firstKeyOf(call);
  const others = calls.get(key);
  if (others === undefined) calls.set(key, [call]);
  else others.push(call);
}
