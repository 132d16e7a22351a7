import type { LatchService } from 'nestjs-redis-lock';

// In the process that waits.
export async function open(latches: LatchService, workers: number): Promise<boolean> {
  const latch = latches.get('warm');
  await latch.trySetCount(workers);
  return latch.wait({ waitTimeMs: 30_000 });
}

// In each worker.
export async function ready(latches: LatchService): Promise<void> {
  await latches.get('warm').countDown();
}
