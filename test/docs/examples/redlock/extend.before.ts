import type Redlock from 'redlock';

export async function importAll(redlock: Redlock, steps: (() => Promise<void>)[]): Promise<void> {
  let lock = await redlock.acquire(['import'], 30_000);
  try {
    for (const step of steps) {
      await step();
      lock = await lock.extend(30_000); // 30 s from now; the old object is invalid
    }
  } finally {
    await lock.release();
  }
}
