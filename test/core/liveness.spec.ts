import { describe, expect, it } from '@jest/globals';
import { useWorkers } from '../support/child.js';
import type { Api } from '../support/workers/liveness.worker.js';

const FILE = new URL('../support/workers/liveness.worker.ts', import.meta.url);
/** Long enough that a process which nothing keeps alive has ended before. */
const WAIT_MS = 1_000;
/** A hold is renewed again and again, for as long as its process lives. */
const WITHIN_MS = 30_000;

describe('A process that has nothing else to do', () => {
  const workers = useWorkers();

  it('ends while it holds a lock', async () => {
    const worker = await workers.start<Api>(FILE);
    await worker.call.hold();
    expect(await worker.end(WITHIN_MS)).toMatchObject({ code: 0, stderr: '' });
  });

  it('lives while it waits for an answer, without a limit', async () => {
    const worker = await workers.start<Api>(FILE);
    await worker.call.waitForAnswer(2 * WAIT_MS);
    expect(await worker.end(WITHIN_MS)).toMatchObject({ code: 0, stderr: 'over' });
  });

  it.each(['waitForOthers', 'waitForTurn', 'waitForRelease'] as const)(
    'lives until its wait is over, and ends then: %s',
    async (wait) => {
      const worker = await workers.start<Api>(FILE);
      await worker.call.hold();
      await worker.call[wait](WAIT_MS);
      expect(await worker.end(WITHIN_MS)).toMatchObject({ code: 0, stderr: 'over' });
    },
  );
});
