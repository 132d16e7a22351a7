import { createClient } from '@redis/client';
import { lock } from 'simple-redis-mutex';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'simple-redis-mutex';

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const client = createClient({ socket: { host: HOST, port } });
  await client.connect();
  return {
    acquire: (key) => lock(client, key, { timeout: leaseMs, failAfter: WAIT_MS }),
  };
}
