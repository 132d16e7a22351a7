import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../apps/seckill-demo/src/arena/step.js';
import { Steps } from '../../apps/seckill-demo/src/arena/steps.js';

const DAYS = 500_000;
const LATER = 150_000;

describe('the steps of a shop that serves for days', () => {
  const steps = new Steps();
  for (let waiting = 1; waiting <= DAYS; waiting += 1) {
    steps.add({ kind: 'waiters', process: 1, waiting });
    if (waiting === LATER) steps.add({ kind: 'process', process: 1, state: 'started' });
  }
  const after = async (read?: number): Promise<readonly Step[]> => {
    for await (const batch of steps.batches(read)) {
      expect(batch.read).toBe(DAYS + 1);
      return batch.steps;
    }
    return [];
  };

  it('are the first and the latest ones, and those between that say what they are about', async () => {
    const kept = await after();
    expect(kept.length).toBeLessThan(DAYS);
    const between = kept.findIndex(({ kind }) => kind === 'process');
    const numbers = (some: readonly Step[]) =>
      some.map((step) => (step.kind === 'waiters' ? step.waiting : 0));
    const first = numbers(kept.slice(0, between));
    expect(first).toEqual(Array.from(first, (_, place) => place + 1));
    expect(first.length).toBeLessThan(LATER);
    const latest = numbers(kept.slice(between + 1));
    expect(latest).toEqual(Array.from(latest, (_, place) => DAYS - latest.length + 1 + place));
    expect(latest[0]).toBeGreaterThan(LATER);
  });

  it('reach a reader once, and all of them a reader who has missed some', async () => {
    expect(await after(DAYS - 1)).toMatchObject([{ waiting: DAYS - 1 }, { waiting: DAYS }]);
    expect(await after(5)).toEqual(await after(0));
  });
});
