import { Redis } from 'iovalkey';
import {
  CurrentLock,
  openLocks,
  type LockEvent,
  type OpenLocksOptions,
} from 'nestjs-redis-lock/core';
import { instrumentLocks } from 'nestjs-redis-lock/otel';
import { collectLockMetrics } from 'nestjs-redis-lock/prometheus';
import { Registry } from 'prom-client';

const url = String(process.env.REDIS_URL);
const events: LockEvent['type'][] = [];
const observer = { observe: ({ type }: LockEvent) => events.push(type) };

async function main(connection: OpenLocksOptions['connection']) {
  await using locks = openLocks({ connection, observer });
  return await locks.lock.using('report', () =>
    locks.fair.using('queue', () => CurrentLock.lease().state),
  );
}

const register = new Registry();
const stops = [collectLockMetrics(register), instrumentLocks()];
const client = new Redis(url);
const leases = [await main(url), await main(client)];
client.disconnect();
const metrics = await register.metrics();
for (const stop of stops) stop();
const counted = metrics.match(/^redis_lock_acquisitions_total.* \d+$/gm)?.length;
console.log(JSON.stringify({ leases, events, counted }));
