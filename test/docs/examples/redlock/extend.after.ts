import type { LockService } from 'nestjs-redis-lock';

export async function importAll(locks: LockService, steps: (() => Promise<void>)[]): Promise<void> {
  await locks.using(
    'import',
    async (lease) => {
      for (const step of steps) {
        await step();
        await lease.renew(30_000); // at least 30 s from now
      }
    },
    { leaseTimeMs: 30_000 }, // without it the watchdog renews, and you need no renew()
  );
}
