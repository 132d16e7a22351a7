import { setTimeout as pause } from 'node:timers/promises';
import { LEASE_MS } from './terms.mjs';

export const HOST = '127.0.0.1';

/**
 * @typedef {object} Setting of a try
 * @property {object} library a file of `libraries/`
 * @property {object} locks what its `open` returns
 * @property {() => object} open once more, with connections of its own
 * @property {string} url of a private Redis
 * @property {import('ioredis').Redis} admin
 */

export function check(holds, otherwise) {
  if (!holds) throw new Error(otherwise);
}

/** The names of what a package exports, and of the methods of its classes. */
export const namesIn = (exported) =>
  exported.flatMap((module) =>
    Object.entries(module).flatMap(([name, it]) => [
      name,
      ...(typeof it === 'function' && it.prototype ? Object.getOwnPropertyNames(it.prototype) : []),
    ]),
  );

/**
 * Whether the work is notified within two leases of the loss of its lock.
 * @param {import('ioredis').Redis} admin
 * @param {(work: (signal?: AbortSignal) => Promise<void>) => Promise<unknown>} run under the lock
 */
export async function reported(admin, run) {
  let isReported = false;
  const work = async (signal) => {
    check((await admin.dbsize()) > 0, 'the lock has no key');
    await admin.flushall();
    const aborted = signal && new Promise((resolve) => signal.addEventListener('abort', resolve));
    await Promise.race([aborted, pause(2 * LEASE_MS)].filter(Boolean));
    isReported = signal?.aborted === true;
  };
  // A library may reject after such work.
  await run(work).catch(() => undefined);
  return isReported;
}
