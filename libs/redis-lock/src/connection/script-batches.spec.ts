import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { AsyncLocalStorage } from 'node:async_hooks';
import { eventually } from '../../../../test/support/eventually.js';
import { IOREDIS_VERSIONS } from '../../../../test/support/ioredis-versions.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { ClusterGroup } from '../../../../test/support/topology.js';
import { RENEW } from '../primitives/lua/hash-lock.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { defineScript, forMany, type RawReply, type Script } from '../core/redis/script.js';
import { hashSlot } from './hash-slot.js';
import { openConnection } from '../../../../test/support/open-connection.js';

/** Appends to a list, and answers its length. */
const PUSH = defineScript({
  name: 'push',
  keys: ['list'],
  args: ['text'],
  body: `return redis.call('rpush', list, text)`,
  reply: (raw) => (typeof raw === 'number' ? raw : undefined),
});
const ANOTHER_PUSH = defineScript({
  ...{ name: 'another-push', keys: ['list'], args: ['text'], reply: (raw) => raw },
  body: `redis.call('rpush', list, text) return 1`,
});
const [BY_NAME, BY_NUMBER] = ['return {a, x}', 'return {#KEYS, #ARGV}'].map((body) =>
  defineScript({
    ...{ name: 'lists', keys: ['a', 'b'], args: ['x', 'y'], body, reply: (raw) => raw },
  }),
) as [Script<string, string, RawReply>, Script<string, string, RawReply>];
const MANY = forMany(PUSH);

describe('scripts that are asked for in one turn', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const opened: RedisConnection[] = [];
  let connection: RedisConnection;

  const open = async (to: unknown) => {
    const made = openConnection(to);
    opened.push(made);
    await eventually(() => made.run(PUSH, ['warm'], ['up']));
    return made;
  };
  /** One call on each of these keys, in one turn. */
  const push = (keys: readonly string[], by = connection) =>
    Promise.all(keys.map((key) => by.run(PUSH, [key], ['t'])));
  const settled = (calls: readonly Promise<unknown>[]) => Promise.allSettled(calls);
  const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `k${i}`);
  /** The commands that Redis got, which knew the scripts. */
  const sentBy = async (work: () => Promise<unknown>) => {
    await work();
    const sent = await redis.commandsDuring(work);
    return { evalsha: sent.evalsha, eval: sent.eval };
  };

  beforeEach(async () => {
    connection = await open(redis.url);
  });
  afterEach(() => Promise.all(opened.splice(0).map((made) => made.close())));

  it.each([
    [1, 1],
    [2, 1],
    [16, 1],
    [17, 2],
    [40, 3],
  ])('%d calls of a script travel as %d', async (calls, evalsha) => {
    expect(await sentBy(() => push(keysOf(calls)))).toEqual({ evalsha });
  });

  it('have their own answers, and know when they were sent', async () => {
    await redis.admin.rpush('k1', 'a', 'b');
    const before = performance.now();
    const replies = await push(['k0', 'k1', 'k0']);
    expect(replies.map(({ value, resent }) => [value, resent])).toEqual([
      [1, false],
      [3, false],
      [2, false],
    ]);
    for (const { sentAt } of replies) {
      expect(sentAt).toBeGreaterThanOrEqual(before);
      expect(sentAt).toBeLessThanOrEqual(performance.now());
    }
  });

  it('travel together also when they are asked for by those who got an answer', async () => {
    const twice = async (key: string) => {
      await connection.run(PUSH, [key], ['t']);
      // Any number of microtasks later.
      for (let i = 0; i < Number(key.slice(1)); i += 1) await Promise.resolve();
      await connection.run(PUSH, [key], ['t']);
    };
    expect(await sentBy(() => Promise.all(keysOf(10).map(twice)))).toEqual({ evalsha: 2 });
  });

  it('go in the plain form when they are alone', async () => {
    await redis.admin.script('FLUSH');
    await push(['k']);
    expect(await redis.admin.script('EXISTS', PUSH.sha1, MANY.sha1)).toEqual([1, 0]);
  });

  it('go apart when they differ, and keep the order of the calls on each key', async () => {
    const work = async () => {
      const calls = [PUSH, ANOTHER_PUSH, PUSH, PUSH].map((script, i) =>
        connection.run(script as typeof PUSH, ['list'], [i]),
      );
      await Promise.all([...calls, ...keysOf(5).map((key) => connection.run(PUSH, [key], ['t']))]);
    };
    expect(await sentBy(work)).toEqual({ evalsha: 3 });
    expect(await redis.admin.lrange('list', -4, -1)).toEqual(['0', '1', '2', '3']);
  });

  it('go one by one when they have other keys or arguments than were declared', async () => {
    const renew = () => connection.run(RENEW, ['a'], ['x', 100]);
    expect(await sentBy(() => Promise.all([renew(), renew()]))).toEqual({ evalsha: 2 });
    const extra = () => connection.run(PUSH, ['a'], ['x', 'more']);
    const mixed = () => Promise.all([push(['k0']), extra(), extra(), push(['k1'])]);
    expect(await sentBy(mixed)).toEqual({ evalsha: 3 });
    const two = (keys: string[], args: string[], script = BY_NAME) => {
      const run = () => connection.run(script, keys, args);
      return sentBy(() => Promise.all([run(), run()]));
    };
    expect(await two(['a', 'b'], ['x', 'y'])).toEqual({ evalsha: 1 });
    expect(await two(['a', 'b', 'c'], ['x', 'y'])).toEqual({ evalsha: 2 });
    expect(await two(['a', 'b'], ['x'])).toEqual({ evalsha: 2 });
    // In a script for many, its numbers would be those of the others.
    expect(await two(['a', 'b'], ['x', 'y'], BY_NUMBER)).toEqual({ evalsha: 2 });
  });

  it('go one by one without a key: a Cluster could not tell where they belong', async () => {
    const keyless = defineScript({
      ...{ name: 'keyless', keys: [], args: [], body: 'return 1', reply: (raw) => raw },
    });
    const run = () => connection.run(keyless, [], []);
    expect(await sentBy(() => Promise.all([run(), run()]))).toEqual({ evalsha: 2 });
  });

  describe.each(IOREDIS_VERSIONS)('%s', (_, ioredis) => {
    it.each([2, 3])(
      'fail alone, with the error of a call that is alone: RESP%d',
      async (protocol) => {
        const client = new ioredis.Redis(redis.url, { protocol } as never);
        const ours = await open(client);
        await redis.admin.set('text', 'no list');
        const alone: unknown = await ours.run(PUSH, ['text'], ['t']).catch((e: unknown) => e);
        const [first, second, third] = await settled(
          ['k0', 'text', 'k1'].map((key) => ours.run(PUSH, [key], ['t'])),
        );
        expect([first?.status, third?.status]).toEqual(['fulfilled', 'fulfilled']);
        expect(second).toMatchObject({ status: 'rejected', reason: { code: 'LOCK_STATE' } });
        expect((second as PromiseRejectedResult).reason).toEqual(alone);
        client.disconnect();
      },
    );
  });

  it('fail alone when their answer makes no sense', async () => {
    const odd = defineScript({
      ...PUSH,
      body: `return text == 'odd' and 'x' or 1`,
      reply: PUSH.decode,
    });
    const calls = ['a', 'odd', 'b'].map((text) => connection.run(odd, ['k'], [text]));
    expect((await settled(calls)).map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'fulfilled'],
    ]);
  });

  it('are executed with the text when Redis has forgotten the script', async () => {
    await push(['a', 'b']);
    await redis.admin.script('FLUSH');
    expect(await redis.commandsDuring(() => push(['a', 'b']))).toMatchObject({
      evalsha: 1,
      eval: 1,
    });
    expect(await redis.admin.llen('a')).toBe(2);
  });

  it('go to ioredis in the async context of their caller', async () => {
    const request = new AsyncLocalStorage<string>();
    const client = new Redis(redis.url);
    await client.ping();
    const seen: [string, string | undefined][] = [];
    const send = client.sendCommand.bind(client);
    jest.spyOn(client, 'sendCommand').mockImplementation((command, stream) => {
      seen.push([command.name, request.getStore()]);
      return send(command, stream);
    });
    const ours = await request.run('opener', () => open(client));
    const inOrder = { ...ANOTHER_PUSH, inOrder: true };
    const run = (by: string, script: Script<string, string, unknown>) =>
      request.run(by, () => ours.run(script, ['k'], ['t']));
    seen.length = 0;
    await run('first', ANOTHER_PUSH);
    const ahead = run('second', inOrder);
    await new Promise(setImmediate);
    await Promise.all([ahead, run('third', inOrder)]);
    expect(seen).toEqual([
      ['evalsha', 'first'],
      ['eval', 'first'],
      ['evalsha', 'second'],
      ['evalsha', 'third'],
    ]);
    client.disconnect();
  });

  describe('of a script whose calls have an order', () => {
    const IN_ORDER = { ...PUSH, inOrder: true };
    const ORDER = Array.from({ length: 17 }, (_, i) => String(i));
    const pushed = (texts: readonly string[], by = connection) =>
      texts.map((text) => by.run(IN_ORDER, ['list'], [text]));
    const load = (lua: string) => redis.admin.script('LOAD', lua);
    const keepOrder = async (calls: readonly Promise<unknown>[]) => {
      await Promise.all(calls);
      expect(await redis.admin.lrange('list', 0, -1)).toEqual(ORDER);
    };
    const { lua, sha1 } = MANY;

    it('travel in two when there are more than go together', async () => {
      expect(await sentBy(() => Promise.all(pushed(ORDER)))).toEqual({ evalsha: 2 });
    });

    it.each([
      ['neither form', []],
      ['the plain form', [PUSH.lua]],
      ['the form for several', [lua]],
    ])('keep it when Redis knows %s of their script', async (_, known) => {
      await redis.admin.script('FLUSH');
      for (const text of known) await load(text);
      await keepOrder(pushed(ORDER));
      await redis.admin.del('list');
      await redis.admin.script('FLUSH');
      for (const text of known) await load(text);
      // The first call is on its way when the others come.
      const first = pushed(['0']);
      await new Promise(setImmediate);
      await keepOrder([...first, ...pushed(ORDER.slice(1))]);
    });

    it('keep it after a cut, when they go to a server that knows one form', async () => {
      const ours = await open(proxy.current.url);
      await pushed(['x', 'y'], ours).at(-1);
      await redis.admin.del('list');
      const stuck = proxy.current.hold('toServer', { containing: sha1 });
      const calls = pushed(ORDER, ours);
      await eventually(() => stuck.hits > 0);
      await redis.admin.script('FLUSH');
      await load(PUSH.lua);
      proxy.current.cut();
      stuck.heal();
      await keepOrder(calls);
    });

    it('are dated by their own sending beside calls that Redis refused together', async () => {
      await redis.admin.acl('SETUSER', 'poor', 'reset', 'on', '>pw', '~list', '~warm', '+@all');
      const poor = await open(redis.url.replace('//', '//poor:pw@'));
      const refused = poor.run(IN_ORDER, ['secret'], ['t']);
      const [first, second] = pushed(['0', '1'], poor);
      await first;
      // The second call is sent again, and this one is sent with it.
      const before = performance.now();
      const { sentAt } = await poor.run(IN_ORDER, ['warm'], ['t']);
      expect(sentAt).toBeGreaterThanOrEqual(before);
      await settled([refused, ...(second === undefined ? [] : [second])]);
    });

    it('keep it among other calls, and when Redis refuses them together', async () => {
      await redis.admin.acl('SETUSER', 'poor', 'reset', 'on', '>pw', '~list', '~warm', '+@all');
      const poor = await open(redis.url.replace('//', '//poor:pw@'));
      const calls = ORDER.flatMap((text, i) => {
        const other = i % 5 === 0 ? [poor.run(PUSH, ['secret'], ['t'])] : [];
        const another = i === 3 ? [poor.run(ANOTHER_PUSH, ['list'], ['another'])] : [];
        return [...another, ...other, ...pushed([text], poor)];
      });
      await settled(calls);
      const list = await redis.admin.lrange('list', 0, -1);
      expect(list.filter((text) => text !== 'another')).toEqual(ORDER);
    });

    it('wait for none before them while there is no connection', async () => {
      const ours = await open(proxy.current.url);
      const stuck = proxy.current.hold('toServer', { containing: sha1 });
      const calls = settled(pushed(ORDER, ours));
      await eventually(() => stuck.hits > 0);
      proxy.current.refuse();
      proxy.current.cut();
      await eventually(() => !ours.isUp);
      await expect(pushed(['late'], ours)[0]).rejects.toMatchObject({
        ...{ code: 'LOCK_BACKEND', retryable: true, outcome: 'none' },
      });
      await proxy.current.heal();
      for (const call of await calls) expect(call).toMatchObject({ status: 'fulfilled' });
    });
  });

  it('have each their own fate when Redis refuses them all for one key', async () => {
    await redis.admin.acl('SETUSER', 'poor', 'reset', 'on', '>pw', '~k*', '~warm', '+@all');
    const poor = await open(redis.url.replace('//', '//poor:pw@'));
    const outcomes = await settled(
      ['k0', 'secret', 'k1'].map((key) => poor.run(PUSH, [key], ['t'])),
    );
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { value: 1, resent: false } },
      { status: 'rejected', reason: { code: 'LOCK_BACKEND', retryable: false, outcome: 'none' } },
      { status: 'fulfilled', value: { value: 1, resent: false } },
    ]);
  });

  it('may be asked again when Redis is busy', async () => {
    await redis.admin.config('SET', 'lua-time-limit', 1);
    const blocker = new Redis(redis.url);
    const blocked = blocker.eval('while true do end', 0).catch((e: unknown) => e);
    const isBusy = async () =>
      String(await redis.admin.get('x').catch((e: unknown) => e)).includes('BUSY');
    await eventually(isBusy);
    for (const outcome of await settled(keysOf(3).map((key) => connection.run(PUSH, [key], ['t']))))
      expect(outcome).toMatchObject({ reason: { retryable: true, outcome: 'none' } });
    await redis.admin.script('KILL');
    await blocked;
    blocker.disconnect();
    expect((await push(keysOf(3))).map(({ value }) => value)).toEqual([1, 1, 1]);
  });

  it('tell all of them that they may have been sent twice', async () => {
    const proxied = await open(proxy.current.url);
    await push(['a', 'b'], proxied);
    proxy.current.loseReply({ containing: MANY.sha1, times: 1 });
    const replies = await push(['a', 'b', 'c'], proxied);
    expect(replies.map(({ resent }) => resent)).toEqual([true, true, true]);
    expect((await push(['a', 'b'], proxied)).map(({ resent }) => resent)).toEqual([false, false]);
  });

  it('are not sent by a connection that is closed in the same turn', async () => {
    const calls = settled(keysOf(3).map((key) => connection.run(PUSH, [key], ['t'])));
    await connection.close();
    for (const outcome of await calls)
      expect(outcome).toMatchObject({ reason: { retryable: false, outcome: 'none' } });
    expect(await redis.admin.exists('k0')).toBe(0);
  });
});

describe('scripts that are asked for in one turn of a Cluster', () => {
  let group: ClusterGroup;
  let cluster: Cluster;
  let connection: RedisConnection;
  const SLOT = hashSlot('{t}');

  beforeEach(async () => {
    group = await ClusterGroup.start({ masters: 2, replicated: false });
    cluster = new Cluster(group.addresses, { retryDelayOnTryAgain: 1 });
    connection = openConnection(cluster);
    await eventually(() => connection.run(PUSH, ['{t}a'], ['t']), { withinMs: 10_000 });
  });
  afterEach(async () => {
    await connection.close();
    cluster.disconnect();
    await group.stop();
  });

  const push = (...keys: string[]) =>
    Promise.all(keys.map((key) => connection.run(PUSH, [key], ['t'])));
  const evalshas = async (work: () => Promise<unknown>) => {
    await work();
    for (const { admin } of group.masters) await admin.config('RESETSTAT');
    await work();
    const infos = group.masters.map(({ admin }) => admin.info('commandstats'));
    const calls = (await Promise.all(infos)).map((i) => /cmdstat_evalsha:calls=(\d+)/.exec(i)?.[1]);
    return calls.reduce((sum, count) => sum + Number(count ?? 0), 0);
  };

  it('travel as one for each slot, and go on one by one while a slot moves', async () => {
    expect(await evalshas(() => push('{t}a', '{t}b', '{t}c', '{u}a', '{u}b', 'v'))).toBe(3);

    const from = await group.masterOf(SLOT);
    const to = group.masters.find((node) => node !== from) ?? from;
    const [source, target] = await Promise.all(
      [from, to].map(async ({ admin }) => String(await admin.call('CLUSTER', 'MYID'))),
    );
    const slot = (node: typeof from, ...how: string[]) =>
      node.admin.call('CLUSTER', 'SETSLOT', String(SLOT), ...how);
    await slot(to, 'IMPORTING', String(source));
    await slot(from, 'MIGRATING', String(target));
    // One key is still there, and one has gone: Redis refuses a script that has both.
    const port = String(to.server.port);
    await from.admin.call('MIGRATE', '127.0.0.1', port, '{t}b', '0', '5000');
    const replies = await push('{t}a', '{t}b', '{t}new');
    expect(replies.map(({ value }) => value)).toEqual([4, 3, 1]);
    expect(await evalshas(() => push('{t}a', '{t}c'))).toBe(2);
  });
});
