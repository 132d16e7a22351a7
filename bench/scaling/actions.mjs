// Each process of the measurement executes these actions.
import { now, until } from '../clock.mjs';
import { actions as contended } from '../contended.mjs';
import { actions as holding } from '../scenarios/f.mjs';

export const actions = { ...contended, ...holding, prepare, pairs, take, queue };

/** Gives semaphores their permits; other locks need nothing. */
async function prepare({ permits }, names) {
  for (const name of names) await permits?.(name, 1);
}

/**
 * Each caller acquires and releases names of its own, one after the other.
 * @param {import('../terms.mjs').Locker} locker
 * @param {{ names: string[], callers: number, forMs: number, startAt: number }} order
 */
async function pairs({ acquire }, { names, callers, forMs, startAt }) {
  await until(startAt);
  const over = startAt + forMs;
  let count = 0;
  const flow = async (_, caller) => {
    for (let turn = caller; now() < over; turn += callers, count++) {
      const release = await acquire(names[turn % names.length]);
      await release();
    }
  };
  await Promise.all(Array.from({ length: callers }, flow));
  return { count, ms: now() - startAt };
}

/** Acquires these names, and keeps them. */
async function take({ acquire }, names) {
  await Promise.all(names.map((name) => acquire(name)));
}

/** Callers that wait for these names until the process ends. */
function queue(locker, names) {
  void take(locker, names);
}
