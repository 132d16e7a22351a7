import { Redis } from 'ioredis';
import Redlock from 'redlock';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'redlock';

/** The shortest default pause between two attempts: 200 ms less 100 ms of jitter. */
const SHORTEST_DELAY_MS = 100;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const retryCount = WAIT_MS / SHORTEST_DELAY_MS;
  const redlock = new Redlock([new Redis(port, HOST)], { retryCount });
  return {
    async acquire(key) {
      const lock = await redlock.acquire([key], leaseMs);
      return () => lock.release();
    },
    hold: (key) =>
      new Promise((resolve, reject) => {
        const forEver = () => new Promise(() => resolve(undefined));
        const automaticExtensionThreshold = leaseMs - leaseMs / 3;
        redlock.using([key], leaseMs, { automaticExtensionThreshold }, forEver).catch(reject);
      }),
  };
}
