export interface EventuallyOptions {
  /** How long it may take until the fact is there; 15 000, since a noisy machine stands still for seconds. */
  withinMs?: number;
  /** The pause between two looks; 5. */
  everyMs?: number;
}

/**
 * Looks until `fact` neither throws nor answers `false`, and hands back what it answered. When
 * the time is over, rejects with the last reason. A look that hangs counts as "not yet".
 */
export async function eventually<T>(
  fact: () => T | Promise<T>,
  { withinMs = 15_000, everyMs = 5 }: EventuallyOptions = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  let reason: unknown = new Error('the fact was still unknown');
  for (;;) {
    try {
      const answer = await before(deadline, fact);
      if (answer !== false) return answer;
      reason = new Error(`still false: ${fact.toString().slice(0, 200)}`);
    } catch (error) {
      if (!(error instanceof TooLate)) reason = error;
    }
    if (performance.now() >= deadline)
      throw new Error(`Not within ${withinMs} ms: ${describe(reason)}`, { cause: reason });
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

class TooLate extends Error {}

async function before<T>(deadline: number, work: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, Math.max(0, deadline - performance.now()), new TooLate());
  });
  try {
    return await Promise.race([(async () => work())(), tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

function describe(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
