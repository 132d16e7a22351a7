import { describe, expect, it } from '@jest/globals';
import { useRealRedis } from '../../../../../test/support/redis-server.js';
import { describeIfSharded } from '../../../../../test/support/server-facts.js';
import { LockBackendError } from '../api/errors.js';
import { defineScript, forMany, textIn, type PublishMode } from './script.js';
import { inOrder } from '../../../../../test/support/in-order.js';

describe('defineScript', () => {
  const redis = useRealRedis();
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

    const announces = async (mode: PublishMode, commands: readonly string[]) => {
      const [keys, values] = [['k'], [1, 'wake', 'news']];
      expect(inOrder<string | number>(telling.args, args)).toEqual(values);
      const call = textIn(telling, mode);
      expect(await redis.admin.script('LOAD', call.lua)).toBe(call.sha1);
      const counts = await redis.commandsDuring(async () => {
        const raw = await redis.admin.eval(call.lua, keys.length, ...keys, ...values);
        expect(raw).toEqual(['k', 1, 'wake', 'news', '1']);
      });
      expect(counts).toEqual({ eval: 1, ...Object.fromEntries(commands.map((c) => [c, 2])) });
    };
    it('plain: announces so, and looks the same on the way', () => announces('plain', ['publish']));
    describeIfSharded('by sharded messages', () => {
      it.each([
        ['sharded', ['spublish']],
        ['both', ['publish', 'spublish']],
      ] as const)('%s: announces so, and looks the same on the way', announces);
    });

    it('is one text in all modes for a script without channels', () => {
      expect(sum.inMode.sharded().sha1).toBe(sum.sha1);
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
      // The script was executed, whatever it answers.
      expect(() => strict.decode(raw)).toThrow(
        expect.objectContaining({ retryable: false, outcome: 'unknown' }),
      );
      expect(strict.decode(1)).toBe(true);
    },
  );
});

describe('forMany', () => {
  const redis = useRealRedis();
  const define = (body: string) =>
    defineScript({
      ...{ name: 'x', keys: ['key', 'other'], args: ['text', 'count'], numbers: ['count'], body },
      reply: (raw) => raw,
    });
  /** The answers to three calls at once. */
  const answers = (body: string, counts: readonly (string | number)[] = [1, 2, 3]) => {
    const script = define(body);
    const { lua } = forMany({ lua: script.lua, keys: ['k', 'o'], args: ['t', 1] });
    const keys = counts.flatMap((_, i) => [`k${i}`, 'o']);
    const args = counts.flatMap((count, i) => [`t${i}`, count]);
    return redis.admin.eval(lua, keys.length, ...keys, ...args);
  };

  it('gives each call its own keys and arguments', async () => {
    expect(await answers('return {key, other, text, count}')).toEqual([
      ['k0', 'o', 't0', 1],
      ['k1', 'o', 't1', 2],
      ['k2', 'o', 't2', 3],
    ]);
  });

  it.each([
    ['return key', true],
    ['return KEYS[1]', false],
    ['return unpack(ARGV, 2)', false],
  ])('is for scripts that read by name: %s', (body, readsByName) => {
    expect(define(body).readsByName).toBe(readsByName);
  });

  it('calls the form what Redis calls it', async () => {
    const { lua, sha1 } = forMany(define('return 1'));
    expect(await redis.admin.script('LOAD', lua)).toBe(sha1);
  });

  it('lets answers stay apart, also one that is none', async () => {
    const body = `if count == 1 then return {} elseif count == 3 then return text end`;
    expect(await answers(body)).toEqual([[], null, 't2']);
  });

  it.each([
    [
      'an error that the script answers',
      `return redis.error_reply('LOCKSTATE no')`,
      'LOCKSTATE no',
    ],
    [
      'a command that Redis refuses',
      `return redis.call('incr', key)`,
      'ERR value is not an integer',
    ],
    ['a key of another type', `return redis.call('hget', key, 'f')`, 'WRONGTYPE Operation'],
    [
      'a call of no command',
      `return redis.call('nonsense')`,
      'ERR (@user_script: \\d+: )?Unknown (Redis )?command',
    ],
    ['a mistake', `return text.x.y`, 'ERR user_script:'],
    // As before Redis 7, where a failing command raises a text.
    ['a text', `error('OOM command not allowed', 0)`, 'OOM command not allowed'],
  ])('lets a call fail alone: %s', async (_, failing, message) => {
    const body = `
redis.call('set', key, text)
if count == 2 then ${failing} end
return 1`;
    const [first, second, third] = (await answers(body)) as unknown[];
    expect([first, third]).toEqual([1, 1]);
    expect(second).toBeInstanceOf(Error);
    expect((second as Error).message).toMatch(new RegExp(`^${message}`));
    // Earlier writes of the call stay, as when it is alone.
    expect(await redis.admin.mget('k0', 'k1', 'k2')).toEqual(['t0', 't1', 't2']);
  });

  it('checks the numbers of each call', async () => {
    const [first, second] = (await answers('return count', [1, 'x', 3])) as unknown[];
    expect(first).toBe(1);
    expect(String(second)).toContain('LOCKARG count is not a whole number');
  });
});
