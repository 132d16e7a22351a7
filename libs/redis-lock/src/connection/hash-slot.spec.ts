import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '../../../../test/support/random.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { hashSlot } from './hash-slot.js';

describe('hashSlot', () => {
  const redis = useRealRedis({ flush: false, args: ['--cluster-enabled', 'yes'] });

  // The vectors of the cluster specification, and the tags of its examples.
  it.each([
    ['123456789', 0x31c3],
    ['foo', 12_182],
    ['bar', 5_061],
    ['', 0],
    ['{user1000}.following', 3_443],
    ['{user1000}.followers', 3_443],
    ['foo{bar}{zap}', 5_061],
  ])('puts %p into slot %d', (key, slot) => {
    expect(hashSlot(key)).toBe(slot);
  });

  it('agrees with Redis on any key', async () => {
    const random = seededRandom('hash-slot');
    const parts = ['{', '}', '{}', 'a', '商品', 'é', '🔒', ':', 'x'.repeat(300), '\0', ' '];
    const keys = ['foo{}{bar}', 'foo{{bar}}zap', '}{', '{', '}', '{}', '{a', 'a}', '{}{a}'];
    for (let i = 0; i < 500; i += 1) {
      keys.push(Array.from({ length: random.int(1, 6) }, () => random.pick(parts)).join(''));
    }
    const slots = await Promise.all(keys.map((key) => redis.admin.cluster('KEYSLOT', key)));
    expect(keys.map(hashSlot)).toEqual(slots);
  });
});
