import type { MurLockService } from 'murlock';

export async function importOnce(
  murLock: MurLockService,
  work: () => Promise<void>,
): Promise<boolean> {
  const lock = { isMine: false };
  try {
    await murLock.runWithLock('import', 30_000, async () => {
      lock.isMine = true;
      await work(); // 30 s, and nobody renews
    });
    return true;
  } catch (error) {
    if (lock.isMine) throw error; // of the work, or of a release that came too late
    return false; // busy, or Redis is down: the error is the same
  }
}
