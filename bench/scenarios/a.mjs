// One caller that takes and gives back one free key.
import { now } from '../clock.mjs';
import { costMeasures } from '../contended.mjs';
import { ALL } from '../lockers/who.mjs';
import { quantile } from '../statistics.mjs';

export const title = 'A. One caller, one free key';
export const lockers = ALL;

const COLUMNS = ['p99Us', 'readsPerOp', 'commandsPerOp', 'redisUsPerOp', 'clientUsPerOp'];

export const trials = [
  {
    id: 'A same core',
    title: 'same core',
    cores: 'same core',
    headline: 'opsPerS',
    columns: ['p50Us', ...COLUMNS],
  },
  { id: 'A split', title: 'split', cores: 'split', headline: 'p50Us', columns: COLUMNS },
];

const WINDOW_MS = 500;

export const actions = {
  async cycle({ acquire }, forMs) {
    const latencies = [];
    const startedAt = now();
    const over = startedAt + forMs;
    let from = startedAt;
    while (from < over) {
      await (
        await acquire('alone')
      )();
      const to = now();
      latencies.push(to - from);
      from = to;
    }
    return { latencies: Float64Array.from(latencies), ms: now() - startedAt };
  },
};

export async function drive(crew, _trial, { pace }) {
  await crew.one(0, 'cycle', WINDOW_MS * pace.share);
  const { result, cost } = await crew.measured(() => crew.one(0, 'cycle', WINDOW_MS * pace.share));
  const { latencies, ms } = result;
  return {
    opsPerS: (1e3 * latencies.length) / ms,
    p50Us: 1e3 * quantile(latencies, 0.5),
    p99Us: 1e3 * quantile(latencies, 0.99),
    ...costMeasures(cost, latencies.length),
  };
}
