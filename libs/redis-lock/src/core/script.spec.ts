import { describe, expect, it } from '@jest/globals';
import { useRedis } from '../../../../test/support/redis-server.js';
import { LockBackendError } from './errors.js';
import { callOf, defineScript, inOrder } from './script.js';

describe('defineScript', () => {
  const redis = useRedis();
  const sum = defineScript({
    name: 'sum',
    keys: ['first', 'second'],
    args: ['label', 'count'],
    numbers: ['count'],
    body: `return {first, second, label, count + 1}`,
    reply: (raw) => (Array.isArray(raw) ? raw.join(' ') : undefined),
  });

  it('lets the body speak of keys and arguments by their names, whatever their order', async () => {
    const keys = inOrder(sum.keys, { second: 'b', first: 'a' });
    const args = inOrder<string | number>(sum.args, { count: 41, label: 'x' });
    const raw = await redis.admin.eval(sum.lua, keys.length, ...keys, ...args);
    expect(sum.decode(raw)).toBe('a b x 42');
  });

  it('calls the script what Redis calls it', async () => {
    expect(await redis.admin.script('LOAD', sum.lua)).toBe(sum.sha1);
  });

  describe('with a channel', () => {
    const telling = defineScript({
      name: 'telling',
      keys: ['lock'],
      args: ['count', 'channel', 'other'],
      numbers: ['count'],
      channels: ['channel', 'other'],
      body: `announce(channel, 'a') announce(other, 'b') return {lock, count, channel, other, ARGV[1]}`,
      reply: (raw) => raw,
    });
    const args = { other: 'news', channel: 'wake', count: 1 };

    it.each([
      ['plain', ['publish']],
      ['sharded', ['spublish']],
      ['both', ['publish', 'spublish']],
    ] as const)('%s: announces so, and looks the same on the way', async (mode, commands) => {
      const [keys, values] = [['k'], [1, 'wake', 'news']];
      const call = callOf(telling, { lock: 'k' }, args, mode);
      expect(call).toMatchObject({ keys, args: values });
      expect(callOf(telling, keys, values, mode)).toEqual(call);
      expect(await redis.admin.script('LOAD', call.lua)).toBe(call.sha1);
      const counts = await redis.commandsDuring(async () => {
        const raw = await redis.admin.eval(call.lua, keys.length, ...keys, ...values);
        expect(raw).toEqual(['k', 1, 'wake', 'news', '1']);
      });
      expect(counts).toEqual({ eval: 1, ...Object.fromEntries(commands.map((c) => [c, 2])) });
    });

    it('is one and the same text for all who publish plainly, or have nothing to publish', () => {
      expect(callOf(telling, ['k'], args, 'plain').sha1).toBe(telling.sha1);
      expect(callOf(sum, ['a', 'b'], ['x', 1], 'sharded').sha1).toBe(sum.sha1);
    });
  });

  it('refuses a number that is none before the body runs', async () => {
    const body = `redis.call('set', first, 'written') return 1`;
    const writing = defineScript({
      ...{ name: 'writing', keys: ['first'], args: ['count'], numbers: ['count'], body },
      reply: () => 1,
    });
    for (const bad of ['', 'x', '1e3', '-1', '1.0']) {
      await expect(redis.admin.eval(writing.lua, 1, 'k', bad)).rejects.toThrow(
        'LOCKARG count is not a whole number',
      );
    }
    expect(await redis.admin.exists('k')).toBe(0);
  });

  it.each([null, undefined, {}, [null], ['a', ['b']], 1.5, true, Buffer.from('a')])(
    'takes no answer for a success that is not what the script promises: %p',
    (raw) => {
      const strict = defineScript({
        ...{ name: 'strict', keys: [], args: [], body: 'return 1' },
        reply: (answer) => (answer === 1 ? true : undefined),
      });
      expect(() => strict.decode(raw)).toThrow(LockBackendError);
      // It was executed, whatever it says.
      expect(() => strict.decode(raw)).toThrow(
        expect.objectContaining({ retryable: false, outcome: 'unknown' }),
      );
      expect(strict.decode(1)).toBe(true);
    },
  );
});
