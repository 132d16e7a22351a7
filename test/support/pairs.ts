import { Session } from 'node:inspector/promises';
import { argv } from 'node:process';
import { openLocks } from '../../libs/redis-lock/src/core.js';

/**
 * Acquires and releases, and prints what the library does for a pair: how often it calls its own
 * functions, and the bytes that all code allocates.
 */
const [, , url = '', callers = '1', keys = '1'] = argv;
const PAIRS = 640;

await using locks = openLocks({ connection: url });

const run = async (caller: number) => {
  for (let i = 0; i < PAIRS / Number(callers); i += 1) {
    const lease = await locks.lock.acquire(`k${caller % Number(keys)}`);
    await lease.release();
  }
};
const pairs = () => Promise.all(Array.from({ length: Number(callers) }, (_, i) => run(i)));

/** V8's young generation has room for them. */
async function countBytes(): Promise<number> {
  gc?.();
  const before = process.memoryUsage().heapUsed;
  await pairs();
  return process.memoryUsage().heapUsed - before;
}

async function countCalls(): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await pairs();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  return result
    .filter((script) => script.url.includes('/libs/redis-lock/'))
    .flatMap(({ functions }) => functions)
    .reduce((sum, { ranges: [{ count } = { count: 0 }] }) => sum + count, 0);
}

await pairs();
const bytes = await countBytes();
const calls = await countCalls();
console.log(JSON.stringify({ calls: calls / PAIRS, bytes: bytes / PAIRS }));
