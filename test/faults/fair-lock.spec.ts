import { describe, expect, it } from '@jest/globals';

import {
  eventually,
  seededRandom,
  useRealRedis,
  useWorkers,
  type Worker,
} from '../support/set-up.js';
import { fairKeysOf } from '../support/redisson-fair.js';
import type { Api } from '../support/workers/fair.worker.js';
import { verdictOf } from './support/fair-record.js';

const WORKER = new URL('../support/workers/fair.worker.ts', import.meta.url);
const NAMES = Array.from({ length: 8 }, (_, i) => `product_${String(i)}`);
const PROCESSES = 3;
const CALLERS = 2;
const KILLS = 3;
const HAND_OFFS = 3_000;
/** A killed process may hold the lock, and stand in the queue, for so long. */
const settings = { watchdogLeaseMs: 500, pollIntervalMs: 500 };
const ALIVE_MS = 1_500;

describe('FairLockService in processes that are killed', () => {
  const redis = useRealRedis();
  const workers = useWorkers();

  const begin = async (): Promise<Worker<Api>> => {
    const worker = await workers.start<Api>(WORKER);
    await worker.call.open(redis.url, settings, ALIVE_MS);
    await worker.call.begin(NAMES, CALLERS);
    return worker;
  };
  const recorded = () => redis.admin.llen('record');
  /** Each acquire has an owner of its own. */
  const owners = async () => {
    const ofName = (name: string) => [
      redis.admin.hkeys(name),
      redis.admin.lrange(fairKeysOf(name).queue, 0, -1),
    ];
    return (await Promise.all(NAMES.flatMap(ofName))).flat();
  };

  it('hands the lock over 3,000 times, and lets no caller overtake', async () => {
    const random = seededRandom('fair-lock/kills');
    const herd = await Promise.all(Array.from({ length: PROCESSES }, begin));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = await recorded();
      // Two lines for each hand-off.
      const lines = ((2 * HAND_OFFS) / KILLS) * (0.5 + random.next() / 2);
      await eventually(async () => (await recorded()) > before + lines, { withinMs: 60_000 });
      const victim = random.int(0, PROCESSES - 1);
      const [next] = await Promise.all([begin(), herd[victim]?.kill()]);
      herd[victim] = next;
    }
    await eventually(async () => (await recorded()) > 2 * HAND_OFFS + 1_000, { withinMs: 60_000 });
    // Other callers remove what a killed process has left, as long as there are any.
    const present = new Set(await owners());
    await eventually(async () => !(await owners()).some((owner) => present.has(owner)));
    await Promise.all(herd.map(({ call }) => call.close()));

    const verdict = await verdictOf(redis.admin);
    expect(verdict.overtakes).toEqual([]);
    expect(verdict.handOffs).toBeGreaterThanOrEqual(HAND_OFFS);
    const keys = NAMES.flatMap((name) => [name, ...Object.values(fairKeysOf(name))]);
    expect(await redis.admin.exists(...keys)).toBe(0);
  });
});
