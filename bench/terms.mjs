/**
 * Each locker with such an option gets this time, so that no caller gives up and no lease expires.
 */
export const WAIT_MS = 60_000;
export const LEASE_MS = 10_000;

/** The address of the private server. */
export const HOST = '127.0.0.1';

/**
 * @typedef {object} Terms
 * @property {number} port of the private server
 * @property {number} leaseMs
 */

/**
 * One kind of lock in one process. Not every locker has all methods. Each scenario lists its
 * lockers.
 * @typedef {object} Locker
 * @property {(key: string) => Promise<() => Promise<unknown>>} [acquire] resolves with the release
 * @property {(key: string, count: number) => Promise<unknown>} [permits] allows this number of
 * holders at a time
 * @property {(key: string) => Promise<unknown>} [hold] acquires, and renews every third of the
 * lease
 * @property {(key: string) => Promise<() => unknown>} [arm] makes others wait; resolves with a
 * function that frees them
 * @property {(key: string) => Promise<unknown>} [wait] resolves when the key is freed
 */
