// The time from a release in one process until a waiter in another process holds the key.
import { setTimeout as sleep } from 'node:timers/promises';
import { inTime, now, until } from './clock.mjs';
import { costMeasures } from './contended.mjs';
import { quantile } from './statistics.mjs';

const KEYS = 16;
const SLOTS = 6;
/** The common warm-up hands over too rarely from one process to another. */
const WARMING_SLOTS = 20;
const SLOT_MS = 150;
const HEAD_START_MS = 20;
/** The waiter calls 10 ms after the holder. */
const LATER_MS = 10;
const SHORTEST_HOLD_MS = 15;
const LONGEST_HOLD_MS = 115;
/** Longer than any poll interval. */
const LATE_MS = 500;
const MISSED_MS = 5_000;

export const actions = {
  /** @returns {Promise<number[]>} when each key was freed */
  free: (locker, slots) => {
    const arm = locker.arm ?? locker.acquire;
    return inSlots(slots, async ({ key, at, holdMs }) => {
      await until(at);
      const free = await arm(key);
      await sleep(holdMs);
      const freedAt = now();
      await free();
      return freedAt;
    });
  },

  /** @returns {Promise<(number | null)[]>} when the waiter acquired each key; null: never */
  await: (locker, slots) => {
    const wait = locker.wait ?? (async (key) => locker.acquire(key));
    return inSlots(slots, async ({ key, at }) => {
      await until(at + LATER_MS);
      let gotAt = null;
      const got = Promise.resolve(wait(key)).then((release) => {
        gotAt = now();
        return release?.();
      });
      // A waiter that gives up counts as not woken.
      await inTime(
        got.catch(() => undefined),
        LONGEST_HOLD_MS + MISSED_MS,
      );
      return gotAt;
    });
  },
};

const inSlots = (slots, work) => Promise.all(slots.map(work));

/** The first process frees the keys for which the second process waits. */
export async function drive(crew, { id }, { pace }) {
  await handOffs(crew, `${id}:warm`, Math.ceil(WARMING_SLOTS * pace.share));
  const slots = Math.max(1, Math.round(SLOTS * pace.share));
  const { result, cost } = await crew.measured(() => handOffs(crew, id, slots));
  const done = result.filter(({ gotAt }) => gotAt !== null);
  const ms = done.map(({ freedAt, gotAt }) => gotAt - freedAt).filter((waited) => waited >= 0);
  return {
    p50Us: 1e3 * quantile(ms, 0.5),
    p90Us: 1e3 * quantile(ms, 0.9),
    longestUs: 1e3 * quantile(ms, 1),
    late: ms.filter((waited) => waited > LATE_MS).length,
    missed: result.length - done.length,
    ...costMeasures(cost, result.length),
  };
}

async function handOffs(crew, name, count) {
  const from = now() + HEAD_START_MS;
  const slots = Array.from({ length: count * KEYS }, (_, number) => ({
    key: `${name}:${number}`,
    at: from + SLOT_MS * Math.floor(number / KEYS),
    holdMs: SHORTEST_HOLD_MS + Math.random() * (LONGEST_HOLD_MS - SHORTEST_HOLD_MS),
  }));
  const [freed, got] = await Promise.all([crew.one(0, 'free', slots), crew.one(1, 'await', slots)]);
  return slots.map((_, number) => ({ freedAt: freed[number], gotAt: got[number] }));
}
