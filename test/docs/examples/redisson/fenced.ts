import type { LockService } from 'nestjs-redis-lock';

export async function write(
  locks: LockService,
  id: string,
  store: (token: number | undefined) => Promise<void>,
): Promise<void> {
  await locks.using(`invoice_${id}`, (lease) => store(lease.fencingToken), { fenced: true });
}
