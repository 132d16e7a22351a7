import { setTimeout as pause } from 'node:timers/promises';
import { check, namesIn } from '../support.mjs';

/** For a call to arrive at Redis before the next one begins. */
const ARRIVAL_MS = 500;
const SOON_MS = 10_000;

/**
 * A primitive that the adapter does not use must not be exported either.
 * @param {import('../support.mjs').Setting} setting
 * @param {RegExp} name
 */
function no({ library }, name) {
  const found = namesIn(library.exported).filter((it) => name.test(it));
  check(found.length === 0, `it exports ${found.join(', ')}: try that`);
  return 'no';
}

async function releaseAll(leases) {
  for (const lease of leases.filter(Boolean)) await lease.release();
}

/** The callers of two connections in turns get the lock in the order of their calls. */
export async function fair(setting) {
  const { locks, open } = setting;
  if (!locks.acquireFair) return no(setting, /fair|fifo|queue/i);
  const other = await open();
  const holder = await locks.acquireFair('fair');
  const served = [];
  const calls = [];
  for (const n of [1, 2, 3, 4, 5, 6]) {
    const side = n % 2 === 0 ? locks : other;
    const serve = async ({ release }) => {
      served.push(n);
      await release();
    };
    calls.push(side.acquireFair('fair').then(serve));
    await pause(ARRIVAL_MS);
  }
  await holder.release();
  await Promise.all(calls);
  await other.close();
  return served.join() === '1,2,3,4,5,6' ? 'yes' : 'no';
}

/** Two read at once, and keep a writer out; a writer keeps readers out. */
export async function readWrite(setting) {
  const { tryRead, tryWrite } = setting.locks;
  if (!tryRead) return no(setting, /read.?(lock|write)|write.?lock|rwlock|shared/i);
  const readers = [await tryRead('page'), await tryRead('page')];
  check(readers.every(Boolean), 'two cannot read');
  if (await tryWrite('page')) return 'no';
  await releaseAll(readers);
  const writer = await tryWrite('page');
  check(writer, 'no caller can write');
  const early = await tryRead('page');
  await releaseAll([writer, early]);
  return early ? 'no' : 'yes';
}

/** The third of two permits is refused until one of the two is free again. */
export async function semaphore(setting) {
  const { tryPermit } = setting.locks;
  if (!tryPermit) return no(setting, /semaphore|permit/i);
  const [first, second] = [await tryPermit('gate', 2), await tryPermit('gate', 2)];
  check(first && second, 'two do not get in');
  const third = await tryPermit('gate', 2);
  await first.release();
  const later = await tryPermit('gate', 2);
  await releaseAll([second, third, later]);
  return !third && later ? 'yes' : 'no';
}

/** A waiter goes on after the last of two count-downs, and not before. */
export async function latch(setting) {
  if (!setting.locks.latch) return no(setting, /latch|countdown|barrier/i);
  const start = setting.locks.latch('start');
  await start.trySetCount(2);
  let isOpen = false;
  const waiting = start.wait({ waitTimeMs: SOON_MS }).then((opened) => (isOpen = opened));
  await start.countDown();
  await pause(ARRIVAL_MS);
  if (isOpen) return 'no';
  await start.countDown();
  return (await waiting) ? 'yes' : 'no';
}

/** A later holder has a higher number than an earlier one. */
export async function fencing(setting) {
  const { acquire, acquireFenced } = setting.locks;
  if (!acquireFenced) {
    const { handle, release } = await acquire('account');
    await release();
    return no({ library: { exported: [...setting.library.exported, { ...handle }] } }, /fenc/i);
  }
  const tokens = [];
  for (let n = 0; n < 2; n += 1) {
    const { token, release } = await acquireFenced('account');
    await release();
    tokens.push(Number(token));
  }
  return tokens[1] > tokens[0] ? 'yes' : 'no';
}
