import { ACQUIRE } from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { PassThrough } from '../../support/pass-through.js';
import { brokenScript, connection, script, type Bug } from './planted.js';

/** How far the clock of the next client is ahead. */
export const clock = { aheadMs: 0 };

/** As Redisson does it: each client says how late it is. */
export const CLIENT_TIME: Bug = connection(
  class extends PassThrough {
    readonly #aheadMs = clock.aheadMs;

    protected override patch<S extends { name: string; lua: string; sha1: string }>(script: S): S {
      if (script.name !== ACQUIRE.name) return script;
      const seconds = Math.floor((Date.now() + this.#aheadMs) / 1_000);
      const time = `{ '${String(seconds)}', '0' }`;
      return { ...script, ...brokenScript(script, `redis.call('time')`, time) };
    }
  },
);

/** Only the score says whether a waiter is still there. */
export const NO_HORIZON: Bug = script(
  ACQUIRE,
  'if not record then return score and score <= now end',
  'if true then return score and score <= now end',
);

/** As Redisson does it: who has no score is new. */
export const LOST_SCORE: Bug = script(
  ACQUIRE,
  `local place = not isNew and redis.call('lpos', queue, owner)`,
  'local place = false',
);
