/** Lets so much time pass. The pace of faults and of work, never a way to wait for a fact. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Takes one step after the other until there was enough, or the time is over. */
export async function repeat(
  step: () => void | Promise<void>,
  { until, withinMs, everyMs }: { until: () => boolean; withinMs: number; everyMs: number },
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!until() && performance.now() < deadline) {
    await step();
    await pause(everyMs);
  }
}
