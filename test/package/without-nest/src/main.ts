import { CurrentLock, openLocks, type LockEvent } from 'nestjs-redis-lock/core';

const events: LockEvent['type'][] = [];
const observer = { observe: ({ type }: LockEvent) => events.push(type) };

async function main() {
  await using locks = openLocks({ connection: String(process.env.REDIS_URL), observer });
  return await locks.lock.using('report', () =>
    locks.fair.using('queue', () => CurrentLock.lease().state),
  );
}

const lease = await main();
console.log(JSON.stringify({ lease, events }));
