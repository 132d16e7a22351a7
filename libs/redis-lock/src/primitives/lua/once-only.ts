import { fragment } from './fragment.js';
import { LockBackendError } from '../../core/api/errors.js';
import { helperKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { tell, type LockKind } from '../../core/api/observer.js';
import { outOfScope, type Timer } from '../../core/time/clock.js';
import type { Reply } from '../../core/redis/connection.js';
import { defineScript, type RawReply } from '../../core/redis/script.js';
import { answerWithin, asUnknown } from '../../core/redis/retry.js';

/** Redis remembers a request for this time. Delivered again, the request changes nothing. */
export const MARKER_TTL_MS = 10 * 60 * 1_000;

/** A request is repeated for this time. Redis still remembers one that is on its way at the end. */
const INSIST_MS = MARKER_TTL_MS / 2;
/** How long a caller waits for an answer. */
const PATIENCE_MS = 2_000;

const FORGET_AFTER_MS = 1_000;
/** Keys in one script. */
const MOST_AT_ONCE = 250;

/**
 * Lua for a script that counts. Needs the key `marker` and the number `markerTtlMs`. After it,
 * `known` is the note of an earlier delivery, if there was one. `once(note, command…)` writes the
 * note and runs the one command that changes a number. If Redis refuses one of both, `once` returns
 * its error.
 */
export const ONCE = fragment('marker markerTtlMs', 'known once')`
local known = redis.call('get', marker)
local function once(note, ...)
  local noted = redis.pcall('set', marker, note, 'px', markerTtlMs)
  if noted.err then return noted end
  if select('#', ...) == 0 then return nil end
  local changed = redis.pcall(...)
  if type(changed) ~= 'table' or not changed.err then return nil end
  -- A note of a failed step would count as its answer.
  if known then redis.call('set', marker, known, 'px', markerTtlMs) else redis.call('del', marker) end
  return changed
end`;

/**
 * Lua that sets a local of this name to the number in a key. It is false when the key is absent.
 */
export function numberIn(key: string, local: string): string {
  return `
local ${local} = redis.call('get', ${key})
if ${local} then
  local isWhole = ${local} == '0' or string.find(${local}, '^%-?[1-9]%d*$')
  if not isWhole or #${local} > 15 then
    return redis.error_reply('LOCKSTATE it holds something that is no count')
  end
  ${local} = tonumber(${local})
end`;
}

export const FORGET = defineScript({
  name: 'once-only.forget',
  keys: [],
  args: [],
  body: `return redis.call('del', unpack(KEYS))`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});

/** The answer of a script that counts: a number, and whether its message was published. */
export interface Counted {
  readonly count: number;
  readonly isAnnounced: boolean;
}

export function counted(raw: RawReply): Counted | undefined {
  if (typeof raw !== 'object') return undefined;
  const [count, announced] = raw;
  const isKnown = typeof count === 'number' && (announced === 0 || announced === 1);
  return isKnown ? { count, isAnnounced: announced === 1 } : undefined;
}

/**
 * Requests that change a plain number in Redis. The number does not show whether a request was
 * executed, so each request leaves a marker. If the request may arrive again, the marker stays for
 * 10 minutes. If not, it is deleted soon after the answer.
 */
export class OnceOnly {
  /** Markers of answered requests, by the key that was counted. */
  readonly #answered = new Map<string, string[]>();
  #forgetting: Timer | undefined;

  constructor(
    private readonly context: LockContext,
    private readonly prefix: string,
    private readonly kind: LockKind,
  ) {}

  /** The marker of a new request. */
  marker(key: string): string {
    return `${helperKey(this.prefix, key)}:${this.context.newOwner()}`;
  }

  /**
   * Resolves with the result of the request, which counts once.
   * @param insists repeats a request without an answer for 5 minutes, after the caller has its
   * error
   * @throws {LockBackendError} Redis did not answer in time, or refused
   */
  async ask(
    name: string,
    send: (key: string, marker: string) => Promise<Reply<Counted>>,
    insists: boolean,
  ): Promise<number> {
    const { keys, background, settings } = this.context;
    const { kind } = this;
    const key = keys.key(name);
    const marker = this.marker(key);
    const sending = () => send(key, marker);
    try {
      const reply = await answerWithin(PATIENCE_MS, this.context, name, sending);
      if (!reply.resent) this.forget(key, marker);
      if (!reply.value.isAnnounced) tell(settings.observer, { type: 'wake-up-failed', name, kind });
      return reply.value.count;
    } catch (error) {
      if (!insists || !(error instanceof LockBackendError)) throw error;
      void background.insist({ name, kind }, INSIST_MS, sending);
      throw asUnknown(error);
    }
  }

  /** Cancels what a request received, or may still receive. Never rejects. */
  undo(name: string, send: () => Promise<Reply<Counted>>): Promise<void> {
    return this.context.background.insist({ name, kind: this.kind }, INSIST_MS, send);
  }

  /** The request was answered, and cannot arrive again. */
  forget(key: string, marker: string): void {
    const markers = this.#answered.get(key) ?? [];
    this.#answered.set(key, markers);
    if (markers.push(marker) >= MOST_AT_ONCE) this.#forget(key, markers);
    if (this.#forgetting !== undefined) return;
    // The markers of a process that ends earlier expire by their TTL.
    this.#forgetting = outOfScope(() =>
      this.context.clock.after(FORGET_AFTER_MS, () => {
        this.#forgetting = undefined;
        for (const [key, markers] of this.#answered) this.#forget(key, markers);
      }),
    );
    this.#forgetting?.unref();
  }

  #forget(key: string, markers: readonly string[]): void {
    this.#answered.delete(key);
    this.context.connection.run(FORGET, markers, []).catch(() => undefined);
  }
}
