import { describe, expect, it } from '@jest/globals';
import { experimentOf } from '../../../apps/seckill-demo/src/page/playground/address.js';
import {
  FIRST,
  fromQuery,
  MOST_FAULTS,
  NUMBERS,
  STRATEGY_NAMES,
  struckAfter,
  toQuery,
  withFault,
} from '../../../apps/seckill-demo/src/playground/experiment.js';
import type { Experiment, Fault } from '../../../apps/seckill-demo/src/playground/experiment.js';
import { run } from '../../../apps/seckill-demo/src/playground/run.js';
import type { Run } from '../../../apps/seckill-demo/src/playground/run.js';
import { search } from '../../../apps/seckill-demo/src/playground/search.js';
import type { SearchOptions } from '../../../apps/seckill-demo/src/playground/search.js';
import type { GatePoint } from '../../../apps/seckill-demo/src/seckill/gate.js';

const SAFE = ['lock', 'fair', 'write-lock', 'fenced'] as const;
const TRIES = 60;

/** The runs of an experiment with the first seeds. */
const runsOf = async (
  changes: Partial<Experiment>,
  struck: (calm: Run) => Experiment = ({ experiment }) => experiment,
  seeds = 20,
): Promise<Run[]> => {
  const runs: Run[] = [];
  for (let seed = 1; seed <= seeds; seed += 1) {
    runs.push(await run(struck(await run({ ...FIRST, ...changes, seed }))));
  }
  return runs;
};
const passed = ({ steps }: Run, point: GatePoint, buyer?: string) => {
  const [first] = steps.flatMap((step) =>
    step.kind === 'passed' && step.point === point && step.buyer === (buyer ?? step.buyer)
      ? step
      : [],
  );
  if (first === undefined) throw new Error(`none passes ${point}`);
  return first;
};
/** The process that passes this point first is struck right after it. */
const struckAt =
  (point: GatePoint, kind: Fault['kind'], ms?: number) =>
  (calm: Run): Experiment => {
    const { at, process } = passed(calm, point);
    return struckAfter(calm.experiment, at, { kind, process, ...(ms !== undefined && { ms }) });
  };

const broken = async (changes: Partial<Experiment>, kinds: SearchOptions['kinds'] = []) => {
  const { broken: found } = await search({ ...FIRST, ...changes }, { tries: TRIES, kinds });
  return found === undefined ? 'safe' : found.verdict;
};

describe('a strategy of the playground breaks for the reason that is known of it', () => {
  const one = { processes: 1 };
  const slow = { workMs: 500 };
  it.each<[Experiment['strategy'], string, Partial<Experiment>, SearchOptions['kinds'], string]>([
    ['naive', 'two callers', one, [], 'oversold'],
    ['in-process', 'two processes', {}, [], 'oversold'],
    ['setnx', 'a process is killed', {}, ['kill'], 'stuck'],
    ['setnx-expire', 'a process is killed', { latencyMs: 20 }, ['kill'], 'stuck'],
    ['set-nx-px', 'the work is slow', slow, [], 'oversold'],
    ['owner-check', 'the work is slow', slow, [], 'oversold'],
    ['lua-release', 'the work is slow', slow, [], 'oversold'],
    ['lua-release', 'a process is frozen', {}, ['freeze'], 'oversold'],
    ['lock-unchecked', 'a process is frozen', {}, ['freeze'], 'oversold'],
    ['fenced-late', 'a process is frozen', {}, ['freeze'], 'oversold'],
  ])('%s: %s', async (strategy, _why, changes, kinds, verdict) => {
    expect(await broken({ ...changes, strategy }, kinds)).toBe(verdict);
  });

  it.each<[Experiment['strategy'], string, Partial<Experiment>, SearchOptions['kinds']]>([
    ['in-process', 'one process', one, ['freeze']],
    ['setnx', 'none is killed', {}, ['freeze']],
    ['setnx-expire', 'none dies, and the work is fast', {}, []],
    ['lua-release', 'none is frozen', {}, ['kill']],
    ['lock-unchecked', 'the work is slow', slow, ['kill']],
  ])('%s is safe while %s', async (strategy, _why, changes, kinds) => {
    expect(await broken({ ...changes, strategy }, kinds)).toBe('safe');
  });
});

describe('a lock of the library whose write is asserted or fenced', () => {
  it.each(SAFE)(`survives each kill and freeze of ${TRIES} seeds: %s`, async (strategy) => {
    expect(await broken({ strategy }, ['kill', 'freeze'])).toBe('safe');
    expect(await broken({ strategy, leaseMs: 100, workMs: 200 }, ['kill', 'freeze'])).toBe('safe');
  });
});

describe('a run', () => {
  it('follows from its address', async () => {
    const found = await search(FIRST, { tries: TRIES, kinds: ['freeze'] });
    const query = toQuery(found.broken?.experiment ?? FIRST);
    const again = await run(fromQuery(query));
    expect(query).toMatch(/&faults=freeze-\d-[\d.]+-\d+$/);
    expect(again.hash).toBe(found.broken?.hash);
    expect(again.steps).toEqual(found.broken?.steps);
    expect((await run({ ...again.experiment, seed: 999 })).hash).not.toBe(again.hash);
  });

  it.each(STRATEGY_NAMES)(
    'is the same until the moment of a further fault: %s',
    async (strategy) => {
      const calm = await run({ ...FIRST, strategy });
      const now = calm.steps[10]?.at ?? 0;
      const struck = await run(struckAfter(calm.experiment, now, { kind: 'kill', process: 2 }));
      const before = calm.steps.filter((step) => step.at <= now);
      expect(before.length).toBeGreaterThan(5);
      expect(struck.steps.slice(0, before.length)).toEqual(before);
      expect(struck.steps[before.length]).toMatchObject({ kind: 'struck', what: 'killed' });
    },
  );

  it.each(STRATEGY_NAMES)('lets callers arrive once it is connected: %s', async (strategy) => {
    const [slow] = await runsOf({ strategy, latencyMs: 100, workMs: 20 }, undefined, 1);
    const reasons = slow?.steps.map((step) => (step.kind === 'answered' ? step.reason : undefined));
    expect(reasons).not.toContain('LOCK_BACKEND');
  });

  it('lasts until the last request of a killed process has arrived, or is lost', async () => {
    const changes = { strategy: 'setnx', processes: 1, callers: 1, latencyMs: 0 } as const;
    const runs = await runsOf(changes, struckAt('doors', 'kill'));
    expect(new Set(runs.map(({ verdict }) => verdict))).toEqual(new Set(['safe', 'stuck']));
  });

  it('reports that a process goes on before all that it does then', async () => {
    const runs = await runsOf({ strategy: 'lock' }, struckAt('lock-set', 'freeze'));
    for (const { steps } of runs) {
      const thawed = steps.findIndex((step) => step.kind === 'struck' && step.what === 'thawed');
      expect(steps.findIndex(({ at }) => at === steps[thawed]?.at)).toBe(thawed);
    }
  });

  it('names the piece that was sold twice, and by which callers', async () => {
    const { oversold, orders, pieces } = await run({ ...FIRST, strategy: 'naive' });
    expect(oversold?.piece).toBeLessThanOrEqual(20);
    expect(new Set(oversold?.callers).size).toBe(2);
    expect(orders).toBeGreaterThan(pieces);
  });

  it('names no caller whose write was lost', async () => {
    const changes = { strategy: 'naive', latencyMs: 100 } as const;
    const runs = await runsOf(changes, struckAt('before-write', 'kill'));
    const oversold = runs.filter(({ verdict }) => verdict === 'oversold');
    expect(oversold.length).toBeGreaterThan(10);
    for (const one of oversold) {
      expect(one.oversold?.callers).not.toContain(passed(one, 'before-write').buyer);
    }
  });
});

describe('the verdict', () => {
  it.each(STRATEGY_NAMES.slice(2))(
    'is not stuck after the longest freeze, which ends: %s',
    async (strategy) => {
      const runs = await runsOf({ strategy }, struckAt('lock-set', 'freeze', 60_000), 3);
      expect(runs.map(({ verdict }) => verdict)).not.toContain('stuck');
      expect(runs.every(({ steps }) => (steps.at(-1)?.at ?? 0) >= 60_000)).toBe(true);
    },
  );

  it('is stuck for the death that leaves the key, and for no other', async () => {
    const runs = await runsOf({ strategy: 'setnx' }, (calm) => {
      const { at, process } = passed(calm, 'lock-set');
      const struck = struckAt('lock-set', 'kill')(calm);
      return struckAfter(struck, at + 30, { kind: 'kill', process: 3 - process });
    });
    for (const one of runs) {
      expect(one.verdict).toBe('stuck');
      const { process } = passed(one, 'lock-set');
      expect(one.guilty).toMatchObject({ what: 'killed', process });
    }
  });

  it.each(['set-nx-px', 'owner-check', 'lua-release'] as const)(
    'names the write of the holder whose lease is over, even if the other one writes later: %s',
    async (strategy) => {
      const runs = await runsOf({ strategy, leaseMs: 100, workMs: 300 });
      const late = runs.filter(({ oversold }) => oversold && oversold.thief === undefined);
      expect(late.some(({ oversold }) => oversold?.late === oversold?.callers[0])).toBe(true);
      for (const one of late) {
        const { callers, late: buyer } = one.oversold ?? { callers: [] };
        const [other] = callers.filter((caller) => caller !== buyer);
        expect(one.guilty).toMatchObject({ buyer, point: 'before-write' });
        expect(passed(one, 'lock-set', buyer).at).toBeLessThan(passed(one, 'lock-set', other).at);
      }
    },
  );

  it.each(['setnx-expire', 'set-nx-px', 'owner-check'] as const)(
    "names the deletion of another caller's lock: %s",
    async (strategy) => {
      const changes = { strategy, processes: 3, callers: 4, leaseMs: 100, latencyMs: 30 };
      const runs = await runsOf(changes, undefined, 40);
      const stolen = runs.filter(({ oversold }) => oversold?.thief !== undefined);
      expect(stolen.length).toBeGreaterThan(0);
      for (const one of stolen) {
        const { at = 0, late, thief } = one.oversold ?? {};
        expect(one.guilty).toMatchObject({ buyer: thief, point: 'before-delete' });
        expect(late).not.toBe(thief);
        expect(passed(one, 'lock-set', late).at).toBeLessThan(at);
      }
    },
  );

  it('is oversold in the first run that a visitor sees, by a process that froze', async () => {
    const { oversold, guilty } = await run(experimentOf({ hash: '#/playground' }) ?? FIRST);
    const { callers = ['', ''], late } = oversold ?? {};
    expect(new Set(callers.map((caller) => caller[0]))).toEqual(new Set(['1', '2']));
    expect(guilty).toMatchObject({ process: 1, buyer: late, point: 'before-write' });
  });
});

describe('the search', () => {
  it('keeps the faults of the experiment', async () => {
    const own = { kind: 'freeze', process: 2, at: 30, ms: 40 } as const;
    const options = { tries: TRIES, kinds: ['freeze'] } as const;
    const { broken: found } = await search(withFault(FIRST, own), options);
    expect(found?.experiment.faults).toContainEqual(own);
    expect(found?.experiment.faults).toHaveLength(2);
  });

  it('adds no fault to as many as an address can have', async () => {
    const own = { kind: 'kill', process: 3, at: 1, ms: 0 } as const;
    const full = { ...FIRST, faults: Array.from({ length: MOST_FAULTS }, () => own) };
    const found = await search(full, { tries: TRIES, kinds: ['freeze'] });
    expect(found).toEqual({ tried: TRIES });
  });

  it('goes on with the first seed after the last one, so that its address leads there', async () => {
    const last = { ...FIRST, seed: NUMBERS.seed.most };
    const { broken: found } = await search(last, { tries: TRIES, kinds: ['freeze'] });
    expect(fromQuery(toQuery(found?.experiment ?? last))).toEqual(found?.experiment);
  });
});

describe('an address', () => {
  it('has the whole experiment, and is read with care', () => {
    const faults = [
      { kind: 'kill', process: 1, at: 12.5, ms: 0 },
      { kind: 'freeze', process: 2, at: 80, ms: 400 },
    ] as const;
    const experiment = { ...FIRST, strategy: 'fair', seed: 17, latencyMs: 9, faults } as const;
    expect(toQuery(experiment)).toContain('&faults=kill-1-12.5,freeze-2-80-400');
    expect(fromQuery(toQuery(experiment))).toEqual(experiment);
    const wrong = 'strategy=none&seed=x&processes=99&leaseMs=-4&faults=kill-9-1,melt-1-1,freeze-1-';
    expect(fromQuery(wrong)).toEqual({ ...FIRST, processes: 4, leaseMs: 100 });
  });

  it.each([0.29, 28.37, 28.371, -Infinity])('has a fault that comes after %d ms', (now) => {
    const { faults } = struckAfter(FIRST, now, { kind: 'freeze', process: 1 });
    const at = Math.ceil(Math.max(0, now) * 100 + 0.1) / 100;
    expect(faults).toEqual([{ kind: 'freeze', process: 1, at, ms: 450 }]);
  });
});
