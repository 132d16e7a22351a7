import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Cluster } from 'ioredis';
import { CLUSTER } from '../../libs/redis-lock/src/cli/permissions.js';
import { aclRules } from '../support/acl-rules.js';
import { defineScript } from '../../libs/redis-lock/src/core/redis/script.js';
import { hashSlot } from '../../libs/redis-lock/src/connection/hash-slot.js';
import { openConnection } from '../support/open-connection.js';
import { useApplications } from '../faults/support/applications.js';
import { channelOf, handOver } from '../faults/support/hand-over.js';
import { PRIMITIVES, type Kind, type Primitive } from '../faults/support/primitives.js';
import { IOREDIS_VERSIONS } from '../support/ioredis-versions.js';
import { isOverNodeRedis } from '../support/client.js';
import { describeIfSharded, describeUnless } from '../support/server-facts.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { ClusterGroup, type Node } from '../support/topology.js';

const NEVER_POLL_MS = 60_000;
/** A hand-over by message takes a round trip; with a poll only, it would take a minute. */
const BY_MESSAGE_MS = 5 * 1_000;
const NAMES = ['product_1', 'product_2', 'a:{tag}:b', '秒杀'];

describeIfSharded('publish, in a cluster', () => {
  const open = useApplications();
  const clients: Cluster[] = [];
  let group: ClusterGroup;

  beforeAll(async () => {
    group = await ClusterGroup.start({ masters: 2, replicated: false });
  });
  afterAll(() => group.stop());
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  const connect = async (
    make = () => group.connect(),
    prepare: (client: Cluster) => void = () => undefined,
  ) => {
    const client = make();
    client.on('error', () => undefined);
    prepare(client);
    clients.push(client);
    await eventually(() => client.status === 'ready');
    return client;
  };
  // Else outsiders would be told of a shorter lease besides, if the waiter stands in the queue already.
  const settings = { pollIntervalMs: NEVER_POLL_MS, interop: 'none' } as const;
  const listeners = (channel: string) => group.listeners(channel);
  const publishedDuring = async (work: () => Promise<unknown>) => {
    for (const { admin } of group.nodes) await admin.config('RESETSTAT');
    await work();
    const counts = { publish: 0, spublish: 0 };
    for (const { admin } of group.nodes) {
      const info = await admin.info('commandstats');
      for (const command of ['publish', 'spublish'] as const) {
        counts[command] += Number(
          new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1] ?? 0,
        );
      }
    }
    return counts;
  };
  const sharded = async ({ admin }: Node, channel: string) =>
    Number(((await admin.call('PUBSUB', 'SHARDNUMSUB', channel)) as unknown[])[1]);
  /** Any channel that belongs to the name, on any node. */
  const subscriptionsTo = async (name: string, nodes = group.masters) => {
    const channels = nodes.map(({ admin }) => admin.call('PUBSUB', 'SHARDCHANNELS'));
    return ((await Promise.all(channels)).flat() as string[]).filter((channel) =>
      channel.includes(name),
    ).length;
  };
  /** Two nodes only: the one that is not the first. */
  const otherThan = (node: Node) => group.masters.find((master) => master !== node) as Node;

  describe.each(IOREDIS_VERSIONS)('with %s', (_, ioredis) => {
    const make = () => new ioredis.Cluster(group.addresses);

    it.each([
      ['plain', { publish: 1, spublish: 0 }],
      ['sharded', { publish: 0, spublish: 1 }],
      ['both', { publish: 1, spublish: 1 }],
      ['auto', { publish: 0, spublish: 1 }],
    ] as const)('%s announces and hears a release', async (publish, published) => {
      const holder = open(await connect(make), { settings, publish });
      const waiter = open(await connect(make), { settings, publish });
      for (const name of NAMES) {
        let waitedMs = Infinity;
        const counted = await publishedDuring(async () => {
          waitedMs = await handOver({ holder, waiter, listeners }, name);
        });
        expect(waitedMs).toBeLessThan(BY_MESSAGE_MS);
        // The waiter releases, too, when it has got in.
        expect(counted).toEqual({
          ...{ publish: 2 * published.publish, spublish: 2 * published.spublish },
        });
      }
    });

    it('sharded follows a slot to another master, and hears the release there', async () => {
      const holder = open(await connect(make), { settings, publish: 'sharded' });
      const waiter = open(await connect(make), { settings, publish: 'sharded' });
      const name = 'product_moved';
      for (let round = 0; round < 2; round += 1) {
        const from = await group.masterOf(hashSlot(name));
        const to = otherThan(from);
        const waitedMs = await handOver({ holder, waiter, listeners }, name, async () => {
          expect(await sharded(from, channelOf(name))).toBe(1);
          await group.moveSlot(hashSlot(name), to);
          await eventually(async () => (await sharded(to, channelOf(name))) === 1);
        });
        expect(waitedMs).toBeLessThan(BY_MESSAGE_MS);
      }
      await eventually(async () => (await listeners(channelOf(name))) === 0);
    });
  });

  // With more braces around them, most of those with a tag would be in a slot of the other node.
  const names = [...NAMES, 'a{tag}', '{shop}:1', 'cart:{42}'];
  describe.each(PRIMITIVES.map((kind): [string, Kind] => [kind.title, kind]))(
    'of a %s',
    (_, kind) => {
      /** A waiter is subscribed and waits; then `before` happens, and the holder releases the name. */
      const handOn = async (name: string, before: () => Promise<unknown>) => {
        const waitTimeMs = NEVER_POLL_MS;
        const held = await holder.against(name, waitTimeMs);
        const waiting = waiter.take(name, waitTimeMs);
        await eventually(async () => (await subscriptionsTo(name)) > 0);
        await before();
        const releasedAt = performance.now();
        await held.release();
        await (await waiting).release();
        expect(performance.now() - releasedAt).toBeLessThan(BY_MESSAGE_MS);
      };
      let holder: Primitive;
      let waiter: Primitive;
      beforeEach(async () => {
        const options = { settings, publish: 'sharded' } as const;
        [holder, waiter] = [
          kind.of(open(await connect(), options).context),
          kind.of(open(await connect(), options).context),
        ];
      });

      afterEach(async () => {
        for (const { admin } of group.masters) await admin.flushall();
      });

      it('a waiter is woken up by a sharded message, wherever the slot has gone', async () => {
        const counted = await publishedDuring(async () => {
          for (const name of names) await handOn(name, () => Promise.resolve());
          const moved = 'product_moved';
          await handOn(moved, async () => {
            const to = otherThan(await group.masterOf(hashSlot(moved)));
            await group.moveSlot(hashSlot(moved), to);
            await eventually(async () => (await subscriptionsTo(moved, [to])) > 0);
          });
        });
        expect(counted.publish).toBe(0);
        expect(counted.spublish).toBeGreaterThan(names.length);
      });
    },
  );

  it('reaches waiters that listen in one way or the other when it is both', async () => {
    const holder = open(await connect(), { settings, publish: 'both' });
    for (const publish of ['plain', 'sharded'] as const) {
      const waiter = open(await connect(), { settings, publish });
      expect(await handOver({ holder, waiter, listeners }, 'product_1')).toBeLessThan(
        BY_MESSAGE_MS,
      );
    }
  });

  it('opens one connection for sharded messages for each master that a caller waits on', async () => {
    const holder = open(await connect());
    const waiter = open(await connect(), { settings });
    const names = Array.from({ length: 12 }, (_, i) => `product_${String(i)}`);
    const held = await Promise.all(names.map((name) => holder.locks.acquire(name)));
    const waiting = names.map((name) => waiter.locks.acquire(name));
    for (const name of names) {
      const master = await group.masterOf(hashSlot(name));
      await eventually(async () => (await sharded(master, channelOf(name))) === 1);
    }
    for (const { admin } of group.nodes) {
      const list = String(await admin.client('LIST'));
      expect(list.match(/ ssub=[1-9]/g)).toHaveLength(1);
    }
    await Promise.all(held.map((lease) => lease.release()));
    await Promise.all((await Promise.all(waiting)).map((lease) => lease.release()));
  });

  it('comes back when a connection for sharded messages is cut', async () => {
    const holder = open(await connect());
    const waiter = open(await connect(), { settings });
    const name = 'product_1';
    const master = await group.masterOf(hashSlot(name));
    const waitedMs = await handOver({ holder, waiter, listeners }, name, async () => {
      const list = String(await master.admin.client('LIST'));
      const id = /^id=(\d+) .* ssub=3/m.exec(list)?.[1] ?? '';
      await master.admin.client('KILL', 'ID', id);
      await eventually(async () => (await sharded(master, channelOf(name))) === 1);
    });
    expect(waitedMs).toBeLessThan(BY_MESSAGE_MS);
  });

  it('auto is plain where the servers do not tell of sharded messages', async () => {
    const rules = ['on', '>secret', '~*', '&*', '+@all', '-pubsub|shardnumsub'];
    for (const { admin } of group.nodes) await admin.acl('SETUSER', 'shop', ...rules);
    const make = () => group.connect({ username: 'shop', password: 'secret' });
    const holder = open(await connect(make), { settings });
    const waiter = open(await connect(make), { settings });
    const published = await publishedDuring(() =>
      handOver({ holder, waiter, listeners }, 'product_1'),
    );
    expect(published).toEqual({ publish: 2, spublish: 0 });
  });

  it('needs no more rights than docs/security.md says, and all of them', async () => {
    const keyPrefix = 'app:';
    // Names here have a tag of their own, or none.
    const rules = aclRules(['LockService'], keyPrefix).flatMap((rule) => [
      rule,
      rule.replace('{', ''),
    ]);
    const rights = ['on', '>secret', ...rules, ...CLUSTER.map((command) => `+${command}`)];
    for (const { admin } of group.nodes) {
      await admin.acl('SETUSER', 'locks', 'reset', ...rights);
      await admin.acl('LOG', 'RESET');
      await admin.config('RESETSTAT');
    }
    // Else a client of the caller's says what library it is, which it needs no lock for.
    const user = { username: 'locks', password: 'secret', disableClientInfo: true };
    const make = () => group.connect(user);
    const holder = open(await connect(make), { settings: { ...settings, keyPrefix } });
    const waiter = open(await connect(make), { settings: { ...settings, keyPrefix } });
    for (const name of NAMES) {
      const held = await holder.locks.acquire(name, { fenced: true });
      const waiting = waiter.locks.acquire(name, { waitTimeMs: NEVER_POLL_MS });
      await eventually(async () => (await subscriptionsTo(name)) > 0);
      await held.release();
      await (await waiting).release();
    }
    await eventually(async () => (await subscriptionsTo('app:')) === 0);
    // Only for a slot that moves.
    const used = new Set(['asking']);
    for (const { admin } of group.nodes) {
      expect(await admin.acl('LOG')).toEqual([]);
      const info = await admin.info('commandstats');
      for (const [, command = ''] of info.matchAll(/^cmdstat_([^:]+):/gm)) used.add(command);
    }
    expect(CLUSTER.filter((command) => !used.has(command))).toEqual([]);
    for (const { admin } of group.nodes) await admin.acl('DELUSER', 'locks');
  });

  describeUnless(isOverNodeRedis, 'the spec changes a client of ioredis')(
    'without an answer',
    () => {
      it('auto announces in both ways until the cluster has told what it has, and polls meanwhile', async () => {
        const silent = await connect(undefined, (client) => {
          client.call = () => new Promise<never>(() => undefined);
        });
        const holder = open(silent, { settings });
        const published = await publishedDuring(() => holder.locks.using('product_1', () => true));
        expect(published).toEqual({ publish: 1, spublish: 1 });

        const waiter = open(silent, { settings: { pollIntervalMs: 20 } });
        const held = await holder.locks.acquire('product_1');
        const waiting = waiter.locks.acquire('product_1');
        await held.release();
        await (await waiting).release();
      });

      it('auto asks again when no node has answered', async () => {
        let asked = 0;
        const client = await connect(undefined, (cluster) => {
          const call = cluster.call.bind(cluster) as (...args: string[]) => Promise<unknown>;
          cluster.call = (async (...args: string[]) => {
            if (++asked <= 2) throw new Error('Connection is closed.');
            return call(...args);
          }) as never;
        });
        const { locks } = open(client, { settings });
        await eventually(() => asked === 3);
        await eventually(async () =>
          expect(await publishedDuring(() => locks.using('product_1', () => true))).toEqual({
            ...{ publish: 0, spublish: 1 },
          }),
        );
      });
    },
  );

  it.each(['plain', 'sharded', 'both'] as const)(
    '%s reaches a channel that a script has made out of one',
    async (publish) => {
      const tell = defineScript({
        name: 'tell',
        keys: ['key'],
        args: ['text', 'prefix', 'owner'],
        channels: ['prefix'],
        body: `return {key, text, owner, announce(prefix .. ':' .. owner, '7') and 1 or 0, #ARGV}`,
        reply: (raw) => raw,
      });
      const connection = openConnection(await connect(), undefined, publish);
      const heard: string[] = [];
      connection.listen('news:{k}:me', {
        message: (payload) => heard.push(payload),
        confirmed: () => heard.push('confirmed'),
      });
      await eventually(() => expect(heard).toEqual(['confirmed']));
      const { value } = await connection.run(tell, ['k'], ['t', 'news:{k}', 'me']);
      expect(value).toEqual(['k', 't', 'me', 1, 3]);
      await eventually(() => heard.at(-1) === '7');
      heard.pop();
      await connection.close();
    },
  );

  it('leaves neither listeners nor connections behind', async () => {
    const client = await connect();
    const listenersOn = () => client.eventNames().map((event) => client.listenerCount(event));
    const connections = async () => {
      let sum = 0;
      for (const { admin } of group.nodes) {
        sum += String(await admin.client('LIST')).match(/ (sub|ssub)=[1-9]/g)?.length ?? 0;
      }
      return sum;
    };
    // ioredis listens itself, for its own messages.
    const [before, connectedBefore] = [listenersOn(), await connections()];
    for (const publish of ['plain', 'sharded'] as const) {
      const [holder, waiter] = [open(client, { publish }), open(client, { publish, settings })];
      await handOver({ holder, waiter, listeners }, 'product_1');
      await Promise.all([holder.close(), waiter.close()]);
    }
    expect(listenersOn()).toEqual(before);
    await eventually(async () => (await connections()) === connectedBefore);
  });
});

describe('publish, elsewhere', () => {
  const redis = useRealRedis();
  const open = useApplications();

  it.each(['auto', 'plain', 'sharded', 'both'] as const)(
    '%s is plain outside a cluster, and costs nothing more',
    async (publish) => {
      const { locks } = open(redis.url, { publish });
      const warm = async () => (await locks.acquire('product_1')).release();
      await eventually(warm);
      expect(await redis.commandsDuring(warm)).toMatchObject({ evalsha: 2, publish: 1 });
      expect(await redis.commandStats()).not.toHaveProperty('spublish');
    },
  );
});
