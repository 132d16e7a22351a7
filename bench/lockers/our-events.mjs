import { Logger } from '@nestjs/common';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { compile, importCompiled } from '../../scripts/compile.mjs';

// No entry of the package exports all of these.
const SOURCES = new URL('../../libs/redis-lock/src/', import.meta.url);
const load = (file) => importCompiled(new URL(file, SOURCES));
await compile(['libs']);
const { LockService } = await load('core.ts');
const { REDIS } = await load('family/backend.ts');
const { LockFamily } = await load('family/lock-family.ts');
const { LockLogger } = await load('nest/lock-logger.ts');
const { collectLockMetrics } = await load('prometheus.ts');

export const label = 'a free lock';

/** Grants each call at once: the only cost is the client. */
const noRedis = {
  isUp: true,
  run: async ({ name }) => ({
    value: name.endsWith('.leave') ? 'done' : { kind: 'granted', fencingToken: undefined },
    sentAt: performance.now(),
    resent: false,
  }),
  listen: () => () => undefined,
  onUp: () => () => undefined,
  place: () => ({ node: '', slot: 0 }),
  close: async () => undefined,
};
const backend = { ...REDIS, connect: () => noRedis };

const CHANNELS = [
  ...['tracing:nestjs-redis-lock:acquire:start', 'tracing:nestjs-redis-lock:acquire:asyncEnd'],
  'nestjs-redis-lock:event',
];

const cycleOf = (locks) => async () => (await locks.acquire('own')).release();

export async function create() {
  // As in production, without a log line for each step.
  Logger.overrideLogger(['log', 'warn', 'error']);
  const family = new LockFamily({ settings: {} }, backend, (next) => new LockLogger(next));
  const asTheModule = cycleOf(family.lock);
  return {
    // Not available to users: the module and openLocks() always publish events.
    silent: cycleOf(new LockService(backend.context(noRedis, {}))),
    unheard: asTheModule,
    heard: asTheModule,
    counted: asTheModule,
    /** Listens until the returned function is called. */
    listen(how) {
      if (how === 'counted') return collectLockMetrics();
      const hear = () => undefined;
      if (how === 'heard') for (const channel of CHANNELS) subscribe(channel, hear);
      return () => CHANNELS.forEach((channel) => unsubscribe(channel, hear));
    },
  };
}
