import { afterEach, expect, it, jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { LockService, type LockEvent, type LockObserver } from 'nestjs-redis-lock/core';
import type { Hold } from '../../libs/redis-lock/src/core/holding/hold.js';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { compiled } from '../../scripts/compile.mjs';
import { ConsoleProcess } from '../support/console-process.js';
import { isOverNodeRedis } from '../support/client.js';
import { useRealClients } from '../support/lock-client.js';
import { countMade } from '../support/made.js';
import { describeUnless } from '../support/server-facts.js';

const CYCLES = 200;
/** A process makes some promises only once; so many cycles warm it up. */
const WARM_UP = 50;
interface Budget {
  /** For an acquire and a release, with ioredis' own and those of the two `await`s of the caller. */
  readonly promises: number;
  /** See test/support/pairs.ts. */
  readonly pairs: readonly Record<'callers' | 'keys' | 'calls' | 'bytes', number>[];
}
const FILE = new URL('../../budget.json', import.meta.url);
const { promises: PROMISES, pairs: PAIRS } = JSON.parse(readFileSync(FILE, 'utf8')) as Budget;
/** The counting itself and the connection make so many promises once. */
const ONCE = 20;

describeUnless(isOverNodeRedis, 'the limits are for ioredis')('The budget of a lock', () => {
  const { open, redis } = useRealClients(LockService);
  afterEach(() => ConsoleProcess.endAll());

  /** A client whose timers are due when the spec says so. */
  const openStill = (observer?: LockObserver) => {
    const time = { armed: 0, fire: () => {} };
    const clock: Clock = {
      ...systemClock,
      after(_, callback) {
        time.armed += 1;
        time.fire = callback;
        return { ref: () => undefined, unref: () => undefined };
      },
      cancel: () => undefined,
    };
    return { ...open({ clock, ...(observer && { observer }) }), time };
  };

  /** The process is warm before the count begins. */
  const made = async (
    { time }: ReturnType<typeof openStill>,
    run: (cycles: number) => Promise<void>,
  ) => {
    await run(WARM_UP);
    time.armed = 0;
    const { promises, timers } = await countMade(() => run(CYCLES));
    return { promises, timers, armed: time.armed };
  };
  const expectInBudget = ({ promises, timers, armed }: Awaited<ReturnType<typeof made>>) => {
    expect(promises).toBeLessThanOrEqual(PROMISES * CYCLES + ONCE);
    expect(armed).toBe(0);
    // The connection arms a timer for its own checks now and then; no command arms one.
    expect(timers).toBeLessThan(CYCLES / 10);
  };

  it('holds for an acquire and a release of which no other client knows', async () => {
    const client = openStill();
    const all = await made(client, async (cycles) => {
      for (let i = 0; i < cycles; i += 1) {
        const lease = await client.locks.acquire('a');
        await lease.release();
      }
    });
    expectInBudget(all);
  });

  it.each([2, 8])('holds while %d callers of one process hand a lock over', async (callers) => {
    const client = openStill();
    const { locks } = client;
    let lease = await locks.acquire('a');
    const waiting = Array.from({ length: callers - 2 }, () => locks.acquire('a'));
    const all = await made(client, async (cycles) => {
      for (let i = 0; i < cycles; i += 1) {
        waiting.push(locks.acquire('a'));
        await lease.release();
        lease = (await waiting.shift()) ?? lease;
      }
    });
    await lease.release();
    for (const next of waiting) await (await next).release();
    expectInBudget(all);
  });

  it('has nothing for each hold that is renewed', async () => {
    let renewed = 0;
    let done = () => {};
    const observe = (event: LockEvent) => {
      if (event.type === 'renewed') renewed += event.leases;
      if (renewed === 1_000) done();
    };
    const { locks, context, time } = openStill({ observe });
    const names = Array.from({ length: 1_000 }, (_, i) => `a${i}`);
    const leases = await Promise.all(names.map((name) => locks.acquire(name)));
    const holds = context.holds.all;
    const [{ protocol }] = holds as [Hold];
    const renew = jest.spyOn(protocol, 'renew');
    for (const hold of holds) context.holds.renewSoon(hold);
    const { promises } = await countMade(() => {
      time.fire();
      return new Promise<void>((resolve) => (done = resolve));
    });
    const given: unknown[] = renew.mock.calls.flatMap(([renewals]) => renewals);
    expect(given).toHaveLength(1_000);
    // No list of them: to print a thousand holds would take minutes.
    expect(holds.filter((hold) => !given.includes(hold)).length).toBe(0);
    expect(promises).toBeLessThanOrEqual(PROMISES * renew.mock.calls.length + ONCE);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  it.each(PAIRS)(
    'holds for the work of $callers callers with $keys keys',
    async ({ callers, keys, calls, bytes }) => {
      const main = compiled(new URL('../support/pairs.ts', import.meta.url));
      const options = [main, redis.url, String(callers), String(keys)];
      const pairs = new ConsoleProcess('--expose-gc', options);
      const found = JSON.parse(await pairs.says(/(\{.*\})/)) as Record<string, number>;
      expect(found.calls).toBeLessThanOrEqual(calls);
      expect(found.bytes).toBeLessThanOrEqual(bytes);
    },
  );
});
