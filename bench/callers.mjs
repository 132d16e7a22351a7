import { setTimeout as sleep } from 'node:timers/promises';
import { inTime, now, until } from './clock.mjs';
import { Visits } from './visits.mjs';

const SETTLE_MS = 500;

/** The callers of the last trial. Some may still wait when the trial is over. */
let busy = Promise.resolve();

/** @returns {Promise<boolean>} whether all callers of the last trial have stopped waiting */
export const settled = () => inTime(busy, SETTLE_MS);

/**
 * In one turn of the event loop, each of the callers acquires once.
 * @param {(key: string) => Promise<() => Promise<unknown>>} acquire
 * @param {{ key: string, callers: number, cutMs: number, sectionMs?: number, startAt?: number }}
 * order
 */
export async function wave(acquire, { key, callers, cutMs, sectionMs = 0, startAt = 0 }) {
  const visits = new Visits();
  await until(startAt);
  const startedAt = now();
  const asked = Array.from({ length: callers }, (_, flow) =>
    visit(acquire, key, { visits, flow, sectionMs }),
  );
  busy = Promise.all(asked);
  const isOver = await inTime(busy, cutMs);
  return { startedAt, endedAt: now(), isOver, ...visits.close() };
}

/**
 * Each of the callers acquires again as soon as it has released.
 * @param {(key: string) => Promise<() => Promise<unknown>>} acquire
 * @param {{ key: string, callers: number, forMs: number, sectionMs?: number, startAt?: number }}
 * order
 */
export async function loop(acquire, { key, callers, forMs, sectionMs = 0, startAt = 0 }) {
  const visits = new Visits();
  await until(startAt);
  const startedAt = now();
  const flows = Array.from({ length: callers }, async (_, flow) => {
    while (visits.isOpen && (await visit(acquire, key, { visits, flow, sectionMs })));
  });
  busy = Promise.all(flows);
  await inTime(busy, forMs);
  return { startedAt, endedAt: now(), isOver: true, ...visits.close() };
}

/** @returns {Promise<boolean>} false if the locker rejected: the caller then stops */
async function visit(acquire, key, { visits, flow, sectionMs }) {
  const asked = visits.ask(flow);
  try {
    const release = await acquire(key);
    const entered = visits.enter(asked);
    if (sectionMs > 0) await sleep(sectionMs);
    visits.leave(entered);
    await release();
    return true;
  } catch (error) {
    visits.fail(error);
    return false;
  }
}
