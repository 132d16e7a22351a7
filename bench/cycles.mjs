// Callers that take and give back a free key each, one after the other and for a while.
import { now } from './clock.mjs';
import { costMeasures } from './contended.mjs';
import { quantile } from './statistics.mjs';

/** @param {number} flows how many callers, side by side */
export const cyclesOf = (flows) => ({
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
    await Promise.all(Array.from({ length: flows }, flow));
    return { latencies: Float64Array.from(latencies), ms: now() - startedAt };
  },
});

export async function measureCycles(crew, windowMs) {
  const { result, cost } = await crew.measured(() => crew.one(0, 'cycles', windowMs));
  const { latencies, ms } = result;
  return {
    opsPerS: (1e3 * latencies.length) / ms,
    p50Us: 1e3 * quantile(latencies, 0.5),
    p99Us: 1e3 * quantile(latencies, 0.99),
    ...costMeasures(cost, latencies.length),
  };
}
