import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { isDeepStrictEqual } from 'node:util';
import { textIn, type Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { declaredScripts } from '../../scripts/library/scripts.mjs';
import { isBeforeRedis7 } from '../support/server-facts.js';
import { seededRandom, useRealRedis, type Random } from '../support/set-up.js';
import { callOf, damage } from './script-calls.js';
import { Pair, type Seen } from './pair.js';

/** `LOCK_SEED`, which each run prints, replays the calls. The real server's pace is not replayed. */
const CALLS = Number(process.env.CALLS ?? 2_000);

describe('the server in process', () => {
  const redis = useRealRedis();
  let pair: Pair;
  beforeAll(async () => {
    pair = await Pair.of(redis.admin, new Redis(redis.url));
  });
  afterAll(() => {
    pair.end();
  });

  it(`answers as Redis does in ${String(CALLS)} random calls`, async () => {
    const random = seededRandom('differential');
    const all = await declaredScripts(({ pathname }) => import(pathname));
    const scripts = all as unknown as Script<string, string, unknown>[];
    const compared = new Map(scripts.map(({ name }) => [name, 0]));
    for (let calls = 0; calls < CALLS;) {
      const script = random.pick(scripts);
      const isCertain = await step(pair, script, random);
      calls += Number(isCertain);
      compared.set(script.name, (compared.get(script.name) ?? 0) + Number(isCertain));
    }
    const few = CALLS / scripts.length / 4;
    expect([...compared].filter(([, calls]) => calls < few)).toEqual([]);
  });
});

/** A call of this script, and perhaps what an operator does. */
async function step(
  pair: Pair,
  script: Script<string, string, unknown>,
  random: Random,
): Promise<boolean> {
  const { keys, args } = callOf(script, random);
  const mode = random.pick(MODES);
  const seen = await pair.run(textIn(script, mode), keys, args);
  if (script.name === 'red-lock.identify') sameAge(seen);
  if (seen.isCertain) expectSame(seen, [script.name, mode, keys, args]);
  if (random.chance(0.1)) {
    const words = damage(keys, random);
    const both = await pair.command(words);
    if (both.isCertain) expectSame(both, words);
  }
  if (random.chance(0.05)) await pair.pass(random.pick([1, 30, 500, 4_000, 40_000]));
  if (random.chance(0.02)) await pair.fill(random.chance(0.2));
  return seen.isCertain;
}

const MODES = isBeforeRedis7
  ? (['plain', 'broadcast'] as const)
  : (['plain', 'broadcast', 'sharded', 'both'] as const);

/** Both tell their age, and are not of one age. */
function sameAge({ ours, theirs }: { ours: Seen; theirs: Seen }): void {
  for (const { answer } of [ours, theirs]) {
    if (!Array.isArray(answer)) continue;
    expect(answer[1]).toMatch(/^\d+$/);
    answer[1] = 'age';
  }
}

function expectSame({ ours, theirs }: { ours: Seen; theirs: Seen }, call: unknown): void {
  // Jest's comparison, which says where they differ, takes ten times as long.
  if (isDeepStrictEqual(ours, theirs)) return;
  // Unlike JSON, it tells -0 from 0.
  expect({ call, ...ours }).toStrictEqual({ call, ...theirs });
}
