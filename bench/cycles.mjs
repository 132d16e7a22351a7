// Callers that each acquire and release a free key of their own, again and again for some time.
import { now } from './clock.mjs';
import { costMeasures } from './contended.mjs';
import { quantile } from './statistics.mjs';

export const actions = { cycles };

/**
 * @param {import('./terms.mjs').Locker} locker
 * @param {{ flows: number, forMs: number }} order `flows` is the number of parallel callers
 */
export async function cycles({ acquire }, { flows, forMs }) {
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
  await Promise.all(Array.from({ length: flows }, flow));
  return { latencies: Float64Array.from(latencies), ms: now() - startedAt };
}

export async function measureCycles(crew, order) {
  const { result, cost } = await crew.measured(() => crew.one(0, 'cycles', order));
  const { latencies } = result;
  return {
    opsPerS: opsPerS(result),
    p50Us: 1e3 * quantile(latencies, 0.5),
    p99Us: 1e3 * quantile(latencies, 0.99),
    ...costMeasures(cost, latencies.length),
  };
}

export const opsPerS = ({ latencies, ms }) => (1e3 * latencies.length) / ms;
