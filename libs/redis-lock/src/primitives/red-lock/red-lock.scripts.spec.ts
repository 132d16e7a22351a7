import { describe, expect, it } from '@jest/globals';
import { deliver, deliveries, look as lookAt } from '../../../../../test/support/deliver.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { GIVE_BACK, RAISE_TOKEN } from './red-lock.scripts.js';

describe('the scripts of the red lock', () => {
  const redis = useRedis();
  const giveBack = (owner: string) => deliver(redis.admin, GIVE_BACK, ['k'], { owner });
  const raise = (fence: string, tokenTtlMs = 60_000) =>
    deliver(redis.admin, RAISE_TOKEN, ['t'], { fence, tokenTtlMs });
  const holders = () => redis.admin.hkeys('k');
  const look = () => lookAt(redis.admin);

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    it('give-back frees the lock of its owner, and announces nothing', async () => {
      const repeatedly = deliveries(redis, times, holders);
      await redis.admin.hset('k', 'ours', 2);
      const sent = await redis.commandsDuring(() => repeatedly(() => giveBack('ours'), 0));
      expect(sent).not.toHaveProperty('publish');
      expect(await holders()).toEqual([]);
    });

    it('give-back leaves the lock of another owner', async () => {
      const repeatedly = deliveries(redis, times, holders);
      await redis.admin.hset('k', 'theirs', 1);
      await repeatedly(() => giveBack('ours'));
      expect(await holders()).toEqual(['theirs']);
    });

    it('raise-token raises a token, and never lowers one', async () => {
      const repeatedly = deliveries(redis, times, look);
      await repeatedly(() => raise('7'));
      expect(await look()).toEqual({ t: { value: '7', seconds: 60 } });
      await repeatedly(() => raise('12'));
      await repeatedly(() => raise('8'));
      expect(await look()).toMatchObject({ t: { value: '12' } });
    });
  });

  it.each(['', '0', '-1', '1.5', '1e3', 'NaN', ' 7', '1'.repeat(17)])(
    'raise-token refuses %p',
    async (fence) => {
      await expect(raise(fence)).rejects.toThrow('LOCKARG');
      expect(await look()).toEqual({});
    },
  );

  it('raise-token leaves a key alone that holds no token', async () => {
    await redis.admin.set('t', 'x');
    await expect(raise('7')).rejects.toThrow('LOCKSTATE');
    expect(await look()).toEqual({ t: { value: 'x' } });
  });
});
