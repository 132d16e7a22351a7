import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '../../../../../test/support/random.js';
import { ManualClock } from '../../testing/manual-clock.js';
import { NodeGuard } from './node-guard.js';
import { IDENTIFY } from './red-lock.scripts.js';

const LONGEST_S = 30;

/** A process that connects to a server, which reports what its wall clock makes of its uptime. */
function meet() {
  const clock = new ManualClock();
  let onUp = () => undefined as unknown;
  let reported: unknown[] = [];
  const connection = {
    onUp: (listener: () => void) => {
      onUp = listener;
      return () => undefined;
    },
    run: () =>
      Promise.resolve({ value: IDENTIFY.decode(reported as never), resent: false, sentAt: 0 }),
  };
  const guard = new NodeGuard(connection as never, clock, LONGEST_S * 1_000, () => undefined);
  const connect = async (runId: string, uptimeS: number) => {
    reported = [runId, String(uptimeS), 'master', 0];
    onUp();
    await guard.identify();
  };
  const isAdmitted = () =>
    guard.admit().then(
      () => true,
      () => false,
    );
  return { clock, connect, isAdmitted };
}

describe('a step of the clock of a server', () => {
  it.each([3_600, 0, -3_600])(
    'hides no restart from a process that knows it: uptime %d s',
    async (uptimeS) => {
      const { clock, connect, isAdmitted } = meet();
      await connect('a', 100);
      expect(await isAdmitted()).toBe(true);
      await connect('b', uptimeS);
      await clock.advance(LONGEST_S * 1_000 - 1);
      expect(await isAdmitted()).toBe(false);
      await clock.advance(1);
      expect(await isAdmitted()).toBe(true);
    },
  );

  it.each([3_600, 0, -3_600])(
    'is no restart to a process that knows it: uptime %d s',
    async (uptimeS) => {
      const { connect, isAdmitted } = meet();
      await connect('a', 100);
      await connect('a', uptimeS);
      expect(await isAdmitted()).toBe(true);
    },
  );

  it('makes a new process wait for the longest lease, when it is set back', async () => {
    const { clock, connect, isAdmitted } = meet();
    await connect('a', -3_600);
    await clock.advance(LONGEST_S * 1_000 - 1);
    expect(await isAdmitted()).toBe(false);
    await clock.advance(1);
    expect(await isAdmitted()).toBe(true);
  });

  it('ends a forgotten lease for a new process no earlier than one that was kept', async () => {
    const random = seededRandom('steps');
    const admitted = { early: 0, total: 0 };
    for (let i = 0; i < 2_000; i++) {
      // A lease is granted at 0. Then the server restarts, its clock is set, and a process comes.
      const restartedAt = random.int(0, LONGEST_S);
      const metAt = restartedAt + random.int(0, LONGEST_S);
      const stepS = random.int(-LONGEST_S, 2 * LONGEST_S);
      const { connect, isAdmitted } = meet();
      await connect('a', metAt - restartedAt + stepS);
      if (!(await isAdmitted())) continue;
      admitted.total++;
      if (metAt < LONGEST_S) admitted.early++;
      // By a clock with this step, the lease would be over without a restart, too.
      expect(metAt + stepS).toBeGreaterThanOrEqual(LONGEST_S);
    }
    expect(admitted.early).toBeGreaterThan(0);
  });
});
