// The client of all protocols that are written by hand.
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { HOST } from '../terms.mjs';
import { Wakeups } from './raw-wakeups.mjs';

/**
 * @param {number} port
 * @param {readonly string[]} scripts
 * @param {(payload: string) => number} [howMany] the number of waiters that a message wakes
 */
export async function openRaw(port, scripts, howMany) {
  const client = new Redis(port, HOST);
  const wakeups = new Wakeups(new Redis(port, HOST), howMany);
  const shas = await Promise.all(scripts.map((lua) => client.script('LOAD', lua)));
  const id = randomUUID();
  let lastOwner = 0;
  return { client, wakeups, shas, newOwner: () => `${id}:${++lastOwner}` };
}
