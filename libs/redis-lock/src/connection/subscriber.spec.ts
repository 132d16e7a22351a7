import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { eventually } from '../../../../test/support/eventually.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { systemClock } from '../core/time/clock.js';
import { chooseClient } from '../ioredis/choose-client.js';
import { IoredisNode } from '../ioredis/ioredis-node.js';
import { nodeRedis } from '../node-redis/node-redis.js';
import type { NodeClient } from './client.js';
import { Subscriber } from './subscriber.js';
import { Stopwatch } from '../../../../test/support/stopwatch.js';

/** The promise of the library, times five. */
const HALF_OPEN_FOUND_MS = 5 * 2_000;
const HEARTBEAT_MS = 500;
/** Heartbeats in the minute for which a connection without channels is kept. */
const IDLE_BEATS = 60_000 / HEARTBEAT_MS;

class Listener {
  readonly heard: string[] = [];
  confirmations = 0;
  message(payload: string) {
    this.heard.push(payload);
  }
  confirmed() {
    this.confirmations += 1;
  }
}

describe('Subscriber', () => {
  const redis = useRealRedis();
  const proxy = useProxy(redis);
  const subscribers: Subscriber[] = [];
  let opened: Redis[] = [];
  let troubles: unknown[] = [];

  const subscriberOver = (open: () => NodeClient) => {
    const made = new Subscriber(open, (error) => troubles.push(error), systemClock);
    subscribers.push(made);
    return made;
  };
  const subscriber = (options: RedisOptions = {}) =>
    subscriberOver(() => {
      const template = new IoredisNode(
        new Redis(proxy.current.url, { ...options, lazyConnect: true } as never),
      );
      const client = template.another('messages');
      opened.push(client.inner);
      return client;
    });
  const nodeRedisNode = () => {
    const { client } = chooseClient(nodeRedis({ url: proxy.current.url }));
    return (client as NodeClient).another('messages');
  };
  const receivers = async (channel: string) =>
    Number((await redis.admin.pubsub('NUMSUB', channel))[1]);

  afterEach(async () => {
    for (const made of subscribers.splice(0)) made.close();
    opened = [];
    troubles = [];
    await eventually(async () => (await redis.clients()).length === 0);
  });

  it('opens a connection with the first listener, and hands over what it hears', async () => {
    const made = subscriber();
    expect(opened).toEqual([]);
    const [a, b] = [new Listener(), new Listener()];
    made.listen('a', a);
    made.listen('b', b);
    await eventually(() => a.confirmations === 1 && b.confirmations === 1);
    expect(opened).toHaveLength(1);
    await redis.admin.publish('a', '0');
    await redis.admin.publish('b', '1');
    await eventually(() => b.heard.length > 0);
    expect([a.heard, b.heard]).toEqual([['0'], ['1']]);
  });

  it('shares one subscription among the listeners of a channel, until the last one leaves', async () => {
    const made = subscriber();
    const [first, second] = [new Listener(), new Listener()];
    const leaveFirst = made.listen('a', first);
    await eventually(() => first.confirmations === 1);
    const leaveSecond = made.listen('a', second);
    await eventually(() => second.confirmations === 1);
    expect(await receivers('a')).toBe(1);
    leaveFirst();
    leaveFirst();
    await redis.admin.publish('a', '0');
    await eventually(() => second.heard.length === 1);
    expect(first.heard).toEqual([]);
    leaveSecond();
    await eventually(async () => (await receivers('a')) === 0);
  });

  it('unsubscribes in one go from what is not heard any more, and from nothing that is heard again', async () => {
    const made = subscriber();
    const listeners = ['a', 'b', 'c'].map((channel) => ({ channel, ear: new Listener() }));
    const leaves = listeners.map(({ channel, ear }) => made.listen(channel, ear));
    await eventually(() => listeners.every(({ ear }) => ear.confirmations === 1));
    const back = new Listener();
    const sent = await redis.commandsDuring(async () => {
      for (const leave of leaves) leave();
      made.listen('b', back);
      await eventually(() => back.confirmations === 1);
      await eventually(async () => (await receivers('a')) + (await receivers('c')) === 0);
    });
    expect(sent).toMatchObject({ unsubscribe: 1 });
    expect(sent.subscribe).toBeUndefined();
    await redis.admin.publish('b', '0');
    await eventually(() => back.heard.length === 1);
  });

  it('sends one SUBSCRIBE for a channel, however many listeners come and go', async () => {
    const made = subscriber();
    const stays = new Listener();
    const sent = await redis.commandsDuring(async () => {
      const left = made.listen('a', new Listener());
      made.listen('a', stays);
      left();
      await eventually(() => stays.confirmations === 1);
      for (let i = 0; i < 20; i += 1) {
        const comes = new Listener();
        const leave = made.listen('a', comes);
        await eventually(() => comes.confirmations === 1);
        leave();
      }
      await redis.admin.publish('a', '0');
      await eventually(() => stays.heard.length === 1);
    });
    expect(sent).toMatchObject({ subscribe: 1 });
    expect(sent.unsubscribe).toBeUndefined();
    expect(stays.confirmations).toBe(1);
  });

  it.each(['ioredis', 'node-redis'])(
    'hears for a listener that comes while the last one left, by one SUBSCRIBE over %s',
    async (name) => {
      const made = name === 'ioredis' ? subscriber() : subscriberOver(nodeRedisNode);
      const other = new Listener();
      made.listen('other', other);
      await eventually(() => other.confirmations === 1);
      const answers = proxy.current.hold('toClient');
      const [left, back] = [new Listener(), new Listener()];
      const sent = await redis.commandsDuring(async () => {
        const leave = made.listen('a', left);
        await eventually(async () => (await receivers('a')) === 1);
        leave();
        made.listen('a', back);
        expect(made.isHearing).toBe(false);
        answers.heal();
        await eventually(() => back.confirmations === 1);
        await redis.admin.publish('a', '0');
        await eventually(() => back.heard.length === 1);
      });
      expect(sent).toMatchObject({ subscribe: 1 });
      expect(sent.unsubscribe).toBeUndefined();
      expect(left.confirmations + left.heard.length).toBe(0);
    },
  );

  it('leaves a channel that nobody wants any more when its SUBSCRIBE is answered', async () => {
    const made = subscriber();
    const other = new Listener();
    made.listen('other', other);
    await eventually(() => other.confirmations === 1);
    const answers = proxy.current.hold('toClient');
    const leave = made.listen('a', new Listener());
    await eventually(async () => (await receivers('a')) === 1);
    leave();
    answers.heal();
    await eventually(async () => (await receivers('a')) === 0);
    expect(await receivers('other')).toBe(1);
  });

  it('subscribes anew and says so after the connection was cut', async () => {
    const made = subscriber();
    const [a, b] = [new Listener(), new Listener()];
    made.listen('a', a);
    made.listen('b', b);
    await eventually(() => a.confirmations === 1 && b.confirmations === 1);
    for (let cuts = 1; cuts <= 3; cuts += 1) {
      if (cuts === 2) await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      else proxy.current.cut({ kind: cuts === 1 ? 'rst' : 'fin' });
      await eventually(() => a.confirmations === cuts + 1 && b.confirmations === cuts + 1);
      await redis.admin.publish('a', String(cuts));
      await eventually(() => a.heard.at(-1) === String(cuts));
    }
    expect(a.heard).toEqual(['1', '2', '3']);
  });

  it('subscribes to all channels with one command after a cut, those that came meanwhile included', async () => {
    const made = subscriber();
    const [a, alsoA, b, late] = [new Listener(), new Listener(), new Listener(), new Listener()];
    made.listen('a', a);
    made.listen('a', alsoA);
    made.listen('b', b);
    await eventually(() => [a, alsoA, b].every(({ confirmations }) => confirmations === 1));
    const sent = await redis.commandsDuring(async () => {
      proxy.current.refuse();
      proxy.current.cut();
      made.listen('late', late);
      await eventually(() => opened.length >= 3);
      await proxy.current.accept();
      await eventually(() => [a, alsoA, b].every(({ confirmations }) => confirmations === 2));
      await eventually(() => late.confirmations === 1);
    });
    expect(sent).toMatchObject({ subscribe: 1 });
  });

  it('comes back after the server was away, and goes on trying meanwhile', async () => {
    const made = subscriber();
    const a = new Listener();
    made.listen('a', a);
    await eventually(() => a.confirmations === 1);
    proxy.current.refuse();
    proxy.current.cut();
    await eventually(() => opened.length >= 4);
    await proxy.current.accept();
    await eventually(() => a.confirmations === 2);
    expect(await receivers('a')).toBe(1);
  });

  it.each<[string, RedisOptions]>([
    ['', {}],
    [', also when a time limit for commands is over first', { commandTimeout: 300 }],
  ])('finds out within two seconds that a connection is half open%s', async (_, options) => {
    const made = subscriber(options);
    const a = new Listener();
    made.listen('a', a);
    await eventually(() => a.confirmations === 1);
    const [first] = proxy.current.connections;
    proxy.current.blackhole('both', { where: (connection) => connection === first });
    const sinceCut = new Stopwatch();
    await eventually(() => a.confirmations === 2, { withinMs: HALF_OPEN_FOUND_MS });
    expect(sinceCut.realMs).toBeGreaterThan(500);
    await redis.admin.publish('a', '0');
    await eventually(() => a.heard.length === 1);
    first?.cut('rst');
  });

  it('finds out also while the subscription is not confirmed yet', async () => {
    let hole: number | undefined;
    const made = subscriber();
    const a = new Listener();
    const silence = proxy.current.blackhole('toClient', {
      where: ({ index, subscriber }) => {
        hole ??= subscriber ? index : undefined;
        return index === hole;
      },
    });
    made.listen('a', a);
    await eventually(() => silence.hits > 0);
    expect(a.confirmations).toBe(0);
    await eventually(() => a.confirmations === 1, { withinMs: HALF_OPEN_FOUND_MS });
    proxy.current.connections.find(({ index }) => index === hole)?.cut('rst');
  });

  it('does not reconnect when there is nothing to hear', async () => {
    const made = subscriber();
    const a = new Listener();
    const leave = made.listen('a', a);
    await eventually(() => a.confirmations === 1);
    leave();
    proxy.current.cut();
    await eventually(() => opened[0]?.status === 'end');
    const again = new Listener();
    made.listen('a', again);
    await eventually(() => again.confirmations === 1);
    expect(opened).toHaveLength(2);
  });

  it('survives that no client can be made at the moment, as in a cluster without nodes', async () => {
    let refusals = 0;
    const made = new Subscriber(
      () => {
        if ((refusals += 1) <= 2) throw new Error('no node');
        return new IoredisNode(new Redis(proxy.current.url, { lazyConnect: true })).another(
          'messages',
        );
      },
      () => undefined,
      systemClock,
    );
    subscribers.push(made);
    const a = new Listener();
    made.listen('a', a);
    await eventually(() => a.confirmations === 1);
  });

  it('tells that it may not subscribe, and finds out when it may', async () => {
    await redis.admin.acl('SETUSER', 'deaf', 'on', '>pw', '~*', '+@all', 'resetchannels');
    const made = subscriber({ username: 'deaf', password: 'pw' });
    const a = new Listener();
    made.listen('a', a);
    await eventually(() => troubles.length > 0);
    expect(String(troubles[0])).toContain('NOPERM');
    expect(a.confirmations).toBe(0);
    await redis.admin.acl('SETUSER', 'deaf', '&*');
    await eventually(() => a.confirmations === 1);
  });

  describe('with a user who may not listen to everything', () => {
    const asPoor = { username: 'poor', password: 'pw' };
    const allow = (...rules: string[]) => redis.admin.acl('SETUSER', 'poor', ...rules);
    /** Waits for heartbeats: each asks again for a refused channel. */
    const heartbeats = async (count: number) => {
      await redis.resetCommandStats();
      await eventually(async () => ((await redis.commandStats()).ping ?? 0) >= count);
    };

    beforeEach(() => allow('reset', 'resetchannels', 'on', '>pw', '~*', '+@all', '&open'));

    it('hears the channels that it may, whatever becomes of the others', async () => {
      const made = subscriber(asPoor);
      const [refused, open] = [new Listener(), new Listener()];
      made.listen('refused', refused);
      made.listen('open', open);
      await eventually(() => open.confirmations === 1);
      proxy.current.cut();
      await eventually(() => open.confirmations === 2);
      await redis.admin.publish('open', '0');
      await eventually(() => open.heard.length === 1);
      expect(refused.confirmations).toBe(0);
    });

    it('tells of each channel once, and not at every heartbeat or reconnect', async () => {
      const made = subscriber(asPoor);
      made.listen('first', new Listener());
      made.listen('first', new Listener());
      const leave = made.listen('second', new Listener());
      await eventually(() => troubles.length >= 2);
      await heartbeats(2);
      proxy.current.cut();
      await heartbeats(2);
      expect(troubles).toHaveLength(2);
      // A later listener has not got the error yet.
      leave();
      made.listen('second', new Listener());
      await eventually(() => troubles.length === 3);
    });

    it('tells again when a channel is refused that was allowed meanwhile', async () => {
      const made = subscriber(asPoor);
      const a = new Listener();
      made.listen('a', a);
      await eventually(() => troubles.length === 1);
      await allow('&a');
      await eventually(() => a.confirmations === 1);
      // Redis ends the connections of subscribers that lose the right to their channel.
      await allow('resetchannels', '&open');
      await eventually(() => troubles.length === 2);
    });
  });

  describe('with nothing to hear', () => {
    /** The heartbeats that are due: a spec calls them. */
    let due: (() => void)[] = [];
    const beat = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        await eventually(() => due.length > 0, { everyMs: 1 });
        due.shift()?.();
      }
      await eventually(() => due.length > 0 || opened.at(-1)?.status === 'end');
    };
    const listenBriefly = async (made: Subscriber, meanwhile = () => Promise.resolve()) => {
      const listener = new Listener();
      const leave = made.listen('a', listener);
      await eventually(() => listener.confirmations === 1);
      await meanwhile();
      leave();
    };

    beforeEach(() => {
      due = [];
      const setRealTimeout = globalThis.setTimeout;
      const setTimeoutOrBeat = (callback: () => void, delayMs: number) => {
        if (delayMs !== HEARTBEAT_MS) return setRealTimeout(callback, delayMs);
        due.push(callback);
        return setRealTimeout(() => undefined, 0);
      };
      jest.spyOn(globalThis, 'setTimeout').mockImplementation(setTimeoutOrBeat as never);
    });
    afterEach(() => {
      jest.restoreAllMocks();
    });

    it('is kept for a minute and then dropped, and opens again when it is needed', async () => {
      const made = subscriber();
      await listenBriefly(made);
      await beat(IDLE_BEATS - 1);
      expect(opened.map(({ status }) => status)).toEqual(['ready']);
      await beat(1);
      expect(opened.map(({ status }) => status)).toEqual(['end']);
      due = [];
      await listenBriefly(made);
      await beat(1);
      const again = new Listener();
      made.listen('a', again);
      await eventually(() => again.confirmations === 1);
      await redis.admin.publish('a', '0');
      await eventually(() => again.heard.length === 1);
      expect(opened.map(({ status }) => status)).toEqual(['end', 'ready']);
    });

    it('is kept for a minute after the last listener, however short that listened', async () => {
      const made = subscriber();
      await listenBriefly(made, () => beat(IDLE_BEATS + 1));
      await beat(IDLE_BEATS - 1);
      await listenBriefly(made);
      await beat(IDLE_BEATS - 1);
      expect(opened.map(({ status }) => status)).toEqual(['ready']);
      await beat(1);
      expect(opened.map(({ status }) => status)).toEqual(['end']);
    });
  });

  it('is silent after close, whatever was on its way', async () => {
    const made = subscriber();
    const a = new Listener();
    made.listen('a', a);
    made.close();
    made.listen('b', a);
    await eventually(async () => (await redis.clients()).length === 0);
    expect(a.confirmations).toBe(0);
  });
});
