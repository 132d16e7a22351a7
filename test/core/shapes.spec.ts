import { describe, expect, it } from '@jest/globals';
import { setFlagsFromString } from 'node:v8';
import { LockService } from 'nestjs-redis-lock/core';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';
import { useRealClients } from '../support/lock-client.js';

const PAIRS = 200;

setFlagsFromString('--allow-natives-syntax');
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- no other source has this syntax
const haveSameShape = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (
  a: unknown,
  b: unknown,
) => boolean;
setFlagsFromString('--no-allow-natives-syntax');

/** V8 drops compiled code when a field of its objects first holds another kind of number. */
describe('The objects of a call', () => {
  const { open } = useRealClients(LockService);

  it('keep their shape for the life of a process', async () => {
    let fraction = 0;
    // The wall clock is now ahead of the monotonic one, now behind it.
    const wall = () => systemClock.wall() + (fraction = -fraction);
    const clock: Clock = { ...systemClock, wall };
    const { locks, context } = open({ clock });
    const hold = async () => {
      const lease = await locks.acquire('a');
      const held = context.holds.all[0];
      await lease.release();
      return [lease, held];
    };
    const first = await hold();
    fraction = 0.4;
    for (let i = 0; i < PAIRS; i += 1) await hold();
    const last = await hold();
    expect(first.map((object, i) => haveSameShape(object, last[i]))).toEqual([true, true]);
  });
});
