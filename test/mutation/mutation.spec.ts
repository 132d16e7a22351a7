import { describe, expect, it } from '@jest/globals';
import { ACQUIRE_OR_QUEUE } from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { simulate } from '../simulation/simulation.js';
import * as harness from './harness.js';
import { mutantsOf, textOf } from './mutants.js';
import { planFor } from '../simulation/planted/planted.js';
import { Recording } from './recording.js';
import { Simulated } from './simulated.js';
import { States } from './states.js';

const FIVE_LINES = `local lock = KEYS[1]
if redis.call('exists', lock) == 0 then
  redis.call('set', lock, '1')
end
return 1`;
const SCRIPT = { name: 'five.lines', lua: FIVE_LINES };

describe('the mutants of a script', () => {
  it('change one place each', () => {
    expect(mutantsOf([SCRIPT]).map(({ name }) => name)).toEqual([
      `five.lines 2: redis.call('exists', lock) == 0 → true`,
      `five.lines 2: redis.call('exists', lock) == 0 → false`,
      `five.lines 2: == → ~=`,
      `five.lines 2: 'exists' → 'type'`,
      `five.lines 2: 0 → 1`,
      `five.lines 2: 0 → (-1)`,
      `five.lines 3: redis.call('set', lock, '1') → nothing`,
      `five.lines 3: 'set' → 'get'`,
      `five.lines 3: '1' → ''`,
      `five.lines 5: return 1 → return nil`,
      `five.lines 5: 1 → 2`,
      `five.lines 5: 1 → 0`,
    ]);
  });

  it('are in each script of a family that has the same statement', () => {
    const twin = { name: 'five.twin', lua: `local other = ARGV[1]\n${FIVE_LINES}` };
    const all = mutantsOf([SCRIPT, twin]);
    expect(all).toHaveLength(12);
    const [first] = all;
    expect(first?.in.map(({ script }) => script.name)).toEqual(['five.lines', 'five.twin']);
    const texts = first?.in.map(({ script }) => textOf(script.lua, first).split('\n').at(-4));
    expect(texts).toEqual(['if true then', 'if true then']);
  });

  it('change each place of a statement that a script has twice, and end', () => {
    const loop = "while redis.call('lpop', KEYS[1]) do\n  i = i + 1\nend\n";
    const script = { name: 'two.loops', lua: `local i = 0\n${loop}${loop}return i` };
    const removed = mutantsOf([script]).find(({ name }) => name.includes('i = i + 1 → nothing'));
    if (removed === undefined) throw new Error('no such mutant');
    const text = textOf(script.lua, removed);
    expect(text).not.toContain('i + 1');
    expect(text.match(/'round'/g)).toHaveLength(2);
  });
});

it('a case that fails finds a mutant, and no other mutant', async () => {
  const load = async () => {
    harness.it('sets a key once', () => {
      const server = new RedisServer(systemClock);
      const run = () => server.evaluate({ lua: FIVE_LINES, sha1: '' }, ['k'], []);
      harness.expect(run()).toBe(1);
      harness.expect(server.command('get', ['k'])).toBe('1');
    });
  };
  const states = await States.of([{ name: 'its spec', load }], [SCRIPT]);
  const found = new Map<string, string | undefined>();
  for (const mutant of mutantsOf([SCRIPT])) found.set(mutant.name, await states.find(mutant));
  expect(found.get(`five.lines 3: '1' → ''`)).toBe('sets a key once');
  expect(found.get(`five.lines 2: redis.call('exists', lock) == 0 → true`)).toBeUndefined();
});

it('a history finds a mutant whose calls have other effects', async () => {
  const recording = new Recording();
  await recording.during([ACQUIRE_OR_QUEUE], async () => {
    recording.history = { primitive: 'lock', seed: 1, java: false };
    await simulate(planFor(recording.history));
  });
  const simulated = new Simulated(recording.calls, [ACQUIRE_OR_QUEUE]);
  const mutant = mutantsOf([ACQUIRE_OR_QUEUE]).find(({ name }) =>
    name.includes('left == -2 → true'),
  );
  if (mutant === undefined) throw new Error('The script does not look who is in');
  const { calls, differing } = simulated.differences(mutant);
  expect(calls).toBeGreaterThan(0);
  expect(await simulated.find(mutant, differing)).toMatch(/^lock, seed 1, breaks/);
});
