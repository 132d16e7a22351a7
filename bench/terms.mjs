/** Every locker is asked for this, as far as it can be told: nobody gives up, nothing runs out. */
export const WAIT_MS = 60_000;
export const LEASE_MS = 10_000;

/** Where the private server listens. */
export const HOST = '127.0.0.1';

/**
 * @typedef {object} Terms
 * @property {number} port of the private server
 * @property {number} leaseMs
 */

/**
 * One way to lock, in one process. Not every locker can do everything; each scenario lists who takes part.
 * @typedef {object} Locker
 * @property {(key: string) => Promise<() => Promise<unknown>>} [acquire] resolves with the release
 * @property {(key: string, count: number) => Promise<unknown>} [permits] lets so many in at a time
 * @property {(key: string) => Promise<unknown>} [hold] acquires, and renews every third of the lease
 * @property {(key: string) => Promise<() => unknown>} [arm] makes others wait; resolves with what frees them
 * @property {(key: string) => Promise<unknown>} [wait] resolves once it has been freed
 */
