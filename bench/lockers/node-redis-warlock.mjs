import warlockOn from 'node-redis-warlock';
import { createClient } from 'redis-3';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'node-redis-warlock';

/** The library has no default pause between two attempts. Its documentation and its users use 100 ms. */
const DELAY_MS = 100;

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const warlock = warlockOn(createClient({ host: HOST, port }));
  return {
    acquire: (key) =>
      new Promise((resolve, reject) => {
        warlock.optimistic(key, leaseMs, WAIT_MS / DELAY_MS, DELAY_MS, (error, unlock) => {
          if (error) reject(error);
          else resolve(() => new Promise((released) => unlock(released)));
        });
      }),
  };
}
