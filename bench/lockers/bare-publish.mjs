// One PUBLISH and its message: no wake-up by Redis can be faster.
import { Redis } from 'ioredis';
import { HOST } from '../terms.mjs';

export const label = 'bare PUBLISH';

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port }) {
  const client = new Redis(port, HOST);
  const subscriber = new Redis(port, HOST);
  const waiters = new Map();
  subscriber.on('message', (channel) => waiters.get(channel)?.());
  return {
    arm: async (key) => () => client.publish(key, '0'),
    async wait(key) {
      const woken = new Promise((resolve) => waiters.set(key, resolve));
      await subscriber.subscribe(key);
      await woken;
    },
  };
}
