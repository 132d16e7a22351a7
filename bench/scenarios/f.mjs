// One process holds many locks, and does nothing else.
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from '../clock.mjs';
import { RENEWING } from '../lockers/who.mjs';

export const title = 'F. 10,000 held locks (2,000 with --quick), renewed each second';
export const lockers = RENEWING;
export const leaseMs = 3_000;

export const trials = [
  {
    id: 'F',
    title: 'one process',
    cores: 'split',
    headline: 'clientUsPerRenewal',
    columns: [
      ...['renewalsPerS', 'callsPerS', 'commandsPerS', 'redisUsPerRenewal'],
      ...['heapKiBPerLock', 'rssKiBPerLock', 'lost'],
    ],
  },
];

/** The number of locks that are acquired at a time. */
const AT_ONCE = 100;
/** A whole number of periods: most lockers renew all their locks at one moment of a period. */
const PERIODS = 2;
const KIB = 1_024;

export const actions = {
  async hold({ hold }, locks) {
    const before = memory();
    for (let i = 0; i < locks; i += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => hold(`held:${i + k}`)));
    }
    return before;
  },
  idle: (_locker, forMs) => sleep(forMs).then(() => undefined),
  memory,
};

function memory() {
  global.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

export async function drive(crew, _trial, { pace, probe }) {
  const before = await crew.one(0, 'hold', pace.locks);
  const after = await crew.one(0, 'memory');
  const periodMs = leaseMs / 3;
  // After this time each lock has been renewed once.
  await crew.one(0, 'idle', periodMs);
  const from = now();
  const windowMs = periodMs * Math.ceil(PERIODS * pace.share);
  const { cost } = await crew.measured(() => crew.one(0, 'idle', windowMs));
  const seconds = (now() - from) / 1e3;
  return {
    clientUsPerRenewal: cost.clientUs / cost.expiries,
    renewalsPerS: cost.expiries / seconds,
    callsPerS: cost.scriptCalls / seconds,
    commandsPerS: cost.commands / seconds,
    redisUsPerRenewal: cost.redisUs / cost.expiries,
    heapKiBPerLock: (after.heap - before.heap) / KIB / pace.locks,
    rssKiBPerLock: (after.rss - before.rss) / KIB / pace.locks,
    lost: pace.locks - (await heldLocks(probe)),
  };
}

async function heldLocks(probe) {
  const names = (await probe.keys()).map((key) => /held:\d+/.exec(key)?.[0]);
  return new Set(names.filter(Boolean)).size;
}
