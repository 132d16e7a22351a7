// 64 callers of one process, each with a free key of its own.
import { now } from '../clock.mjs';
import { costMeasures } from '../contended.mjs';
import { ALL } from '../lockers/who.mjs';
import { quantile } from '../statistics.mjs';

export const title = 'B. 64 callers, 64 free keys';
export const lockers = ALL;

export const trials = [
  {
    id: 'B',
    title: 'one process',
    cores: 'split',
    headline: 'opsPerS',
    columns: ['p50Us', 'p99Us', 'readsPerOp', 'commandsPerOp', 'redisUsPerOp', 'clientUsPerOp'],
  },
];

const FLOWS = 64;
const WARM_UP_MS = 300;
const WINDOW_MS = 600;

export const actions = {
  async cycles({ acquire }, forMs) {
    const latencies = [];
    const startedAt = now();
    const over = startedAt + forMs;
    const flow = async (_, number) => {
      let from = startedAt;
      while (from < over) {
        await (
          await acquire(`own:${number}`)
        )();
        const to = now();
        latencies.push(to - from);
        from = to;
      }
    };
    await Promise.all(Array.from({ length: FLOWS }, flow));
    return { latencies: Float64Array.from(latencies), ms: now() - startedAt };
  },
};

export async function drive(crew, _trial, { pace }) {
  await crew.one(0, 'cycles', WARM_UP_MS * pace.share);
  const { result, cost } = await crew.measured(() => crew.one(0, 'cycles', WINDOW_MS * pace.share));
  const { latencies, ms } = result;
  return {
    opsPerS: (1e3 * latencies.length) / ms,
    p50Us: 1e3 * quantile(latencies, 0.5),
    p99Us: 1e3 * quantile(latencies, 0.99),
    ...costMeasures(cost, latencies.length),
  };
}
