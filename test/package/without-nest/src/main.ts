import { Redis } from 'iovalkey';
import {
  CurrentLock,
  openLocks,
  type LockEvent,
  type OpenLocksOptions,
} from 'nestjs-redis-lock/core';

const url = String(process.env.REDIS_URL);
const events: LockEvent['type'][] = [];
const observer = { observe: ({ type }: LockEvent) => events.push(type) };

async function main(connection: OpenLocksOptions['connection']) {
  await using locks = openLocks({ connection, observer });
  return await locks.lock.using('report', () =>
    locks.fair.using('queue', () => CurrentLock.lease().state),
  );
}

const client = new Redis(url);
const leases = [await main(url), await main(client)];
client.disconnect();
console.log(JSON.stringify({ leases, events }));
