import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis, type RedisOptions } from 'ioredis';
import { eventually } from '../../../../test/support/eventually.js';
import { useProxy } from '../../../../test/support/lock-client.js';
import { useRedis } from '../../../../test/support/redis-server.js';
import { Subscriber } from './subscriber.js';
import { Stopwatch } from '../../../../test/support/stopwatch.js';

/** What the library promises, five times over. */
const HALF_OPEN_FOUND_MS = 5 * 2_000;
/** How long a negative claim is watched. */
const QUIET_MS = 60;

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
  const redis = useRedis();
  const proxy = useProxy(redis);
  const subscribers: Subscriber[] = [];
  let opened: Redis[] = [];
  let troubles: unknown[] = [];

  const subscriber = (options: RedisOptions = {}) => {
    const made = new Subscriber(
      (overrides) => {
        const client = new Redis(proxy.current.url, { ...options, ...overrides } as never);
        opened.push(client);
        return client;
      },
      (error) => troubles.push(error),
    );
    subscribers.push(made);
    return made;
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

  it('confirms a listener only when its own subscription stands', async () => {
    const made = subscriber();
    const other = new Listener();
    made.listen('other', other);
    await eventually(() => other.confirmations === 1);
    const answers = proxy.current.hold('toClient');
    const [left, back] = [new Listener(), new Listener()];
    const leave = made.listen('a', left);
    await eventually(async () => (await receivers('a')) === 1);
    leave();
    await eventually(async () => (await receivers('a')) === 0);
    const requests = proxy.current.hold('toServer');
    made.listen('a', back);
    await eventually(() => requests.hits > 0);
    answers.heal();
    // Now the answers to the first two arrive.
    const confirmed = eventually(() => back.confirmations > 0, { withinMs: QUIET_MS });
    await expect(confirmed).rejects.toThrow('still false');
    expect(await receivers('a')).toBe(0);
    requests.heal();
    await eventually(() => back.confirmations === 1);
    await redis.admin.publish('a', '0');
    await eventually(() => back.heard.length === 1);
    expect(left.confirmations + left.heard.length).toBe(0);
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

  it('finds out within two seconds that a connection is half open', async () => {
    const made = subscriber();
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
  }, 15_000);

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
  }, 15_000);

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
      (overrides) => {
        if ((refusals += 1) <= 2) throw new Error('no node');
        return new Redis(proxy.current.url, overrides as never);
      },
      () => undefined,
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
