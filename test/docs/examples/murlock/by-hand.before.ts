import type { MurLockService } from 'murlock';

export async function importOnce(
  murLock: MurLockService,
  work: () => Promise<void>,
): Promise<boolean> {
  const lock = { isMine: false };
  try {
    await murLock.runWithLock('import', 30_000, async () => {
      lock.isMine = true;
      await work(); // at most 30 s: murlock does not renew
    });
    return true;
  } catch (error) {
    if (lock.isMine) throw error; // from the work, or from a late release
    return false; // busy, or Redis is down: the error is the same
  }
}
