import { Redisson } from 'node-redisson';
import { HOST, WAIT_MS } from '../terms.mjs';

export const label = 'node-redisson';

/** @param {import('../terms.mjs').Terms} terms */
export async function create({ port, leaseMs }) {
  const redisson = new Redisson({
    redis: { options: { host: HOST, port } },
    lockWatchdogTimeout: BigInt(leaseMs),
  });
  const acquire = async (key) => {
    const lock = redisson.getLock(key);
    if (!(await lock.tryLock(BigInt(WAIT_MS), true))) {
      throw new Error(`node-redisson gave up on ${key}`);
    }
    return () => lock.unlock();
  };
  return { acquire, hold: acquire };
}
