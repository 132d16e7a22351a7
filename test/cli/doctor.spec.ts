import { afterEach, describe, expect, it } from '@jest/globals';
import type { RedisOptions } from 'ioredis';
import { openLocks } from 'nestjs-redis-lock/core';
import { startRedisServer, type RedisServer } from '../../scripts/redis-server.mjs';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { pageOf } from '../support/proofs.js';
import { eventually, useProxy, useRealRedis } from '../support/set-up.js';
import { describeIfSharded, isBeforeRedis7 } from '../support/server-facts.js';
import { addSlots, clusterBus } from '../support/topology.js';
import { doctor, run } from './command.js';

const redis = useRealRedis();
const BUS = await clusterBus();
const proxy = useProxy(redis);

/** Nothing of a doctor is left: no key, no connection. */
async function expectNothingLeft(): Promise<void> {
  expect(await redis.admin.keys('*')).toEqual([]);
  await eventually(async () => (await redis.clients()).length === 0);
}

afterEach(expectNothingLeft);

const settings = (name: string, value: string) => redis.admin.config('SET', name, value);

describe('the doctor', () => {
  it('finds nothing that breaks locks on a plain server', async () => {
    const { code, status, findings, err } = await doctor(['--url', redis.url]);
    expect({ code, err, status }).toEqual({ code: 0, err: '', status: 'warn' });
    expect(findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      ...['keyPrefix ok', 'ping ok', 'server ok', 'role ok', 'eviction ok', 'persistence warn'],
      ...['replicas ok', 'permissions ok', 'lock ok', 'message ok', 'clock ok'],
    ]);
    for (const { status, fix } of findings) expect(fix === undefined).toBe(status === 'ok');
    const page = pageOf('docs/command-line.md');
    for (const { check } of findings) expect(page).toContain(`| \`${check}\``);
  });

  it('says the same to a person', async () => {
    const { code, out } = await run(['doctor'], { env: { REDIS_URL: redis.url } });
    expect(code).toBe(0);
    expect(out).toMatch(/^ok {4}server {7}(Redis|Valkey) \d/m);
    expect(out).toMatch(
      /^warn {2}persistence {2}nothing is saved.*\n {19}fix: set appendonly yes/m,
    );
    expect(out).not.toContain('[');
  });

  it('uses no key beyond the prefix, and one that ends by itself', async () => {
    const channels: string[] = [];
    const monitor = await redis.admin.monitor();
    monitor.on('monitor', (_, args: string[]) => channels.push(args.join(' ')));
    const { code } = await doctor(['--url', redis.url, '--key-prefix', 'shop:']);
    await redis.admin.ping();
    await eventually(() => channels.some((line) => line.startsWith('ping')));
    monitor.disconnect();
    expect(code).toBe(0);
    const writes = channels.filter((line) => /^(hset|pexpire|set|zadd) /.test(line));
    expect(writes.some((line) => line.startsWith('hset shop:doctor:'))).toBe(true);
    for (const line of writes) expect(line).toMatch(/^\w+ \S*shop:doctor:/);
  });

  it('changes nothing but its probe', async () => {
    const before = await redis.changes();
    await doctor(['--url', redis.url]);
    // HSET and PEXPIRE of the grant, DEL of the release.
    expect((await redis.changes()) - before).toBe(3);
  });

  it('ping: a server far away', async () => {
    const slow = proxy.current.delay('toServer', 120, { containing: 'ping' });
    const { code, of } = await doctor(['--url', proxy.current.url]);
    slow.heal();
    expect(code).toBe(0);
    expect(of('ping')).toMatchObject([
      { status: 'warn', found: expect.stringMatching(/^1\d\d ms/) },
    ]);
  });

  describe('eviction', () => {
    afterEach(async () => {
      await settings('maxmemory', '0');
      await settings('maxmemory-policy', 'noeviction');
    });

    it('breaks locks where there is a limit', async () => {
      await settings('maxmemory', '100mb');
      await settings('maxmemory-policy', 'volatile-lru');
      const { code, of, status } = await doctor(['--url', redis.url]);
      expect({ code, status }).toEqual({ code: 1, status: 'fail' });
      expect(of('eviction')).toMatchObject([
        { status: 'fail', found: expect.stringMatching(/^volatile-lru: .*grant it again/) },
      ]);
    });

    it('is a warning where there is none yet', async () => {
      await settings('maxmemory-policy', 'allkeys-lfu');
      const { code, of } = await doctor(['--url', redis.url]);
      expect(code).toBe(0);
      expect(of('eviction')).toMatchObject([{ status: 'warn' }]);
    });
  });

  describe('persistence', () => {
    afterEach(async () => {
      await settings('appendonly', 'no');
      await settings('appendfsync', 'everysec');
      await settings('save', '');
    });

    it.each([
      ['always', 'ok', 'loses nothing'],
      ['everysec', 'ok', 'loses up to a second'],
      ['no', 'warn', 'loses what the system has not written yet'],
    ])('an append-only file that is written %s', async (fsync, status, found) => {
      await settings('appendonly', 'yes');
      await settings('appendfsync', fsync);
      const { of } = await doctor(['--url', redis.url]);
      expect(of('persistence')).toMatchObject([{ status, found: expect.stringContaining(found) }]);
    });

    it('snapshots alone', async () => {
      await settings('save', '3600 1');
      const { of } = await doctor(['--url', redis.url]);
      expect(of('persistence')).toMatchObject([
        { status: 'warn', found: expect.stringContaining('save 3600 1') },
      ]);
    });
  });

  it('replicas: fewer than the server asks for', async () => {
    await settings('min-replicas-to-write', '1');
    try {
      const { code, of } = await doctor(['--url', redis.url]);
      expect(code).toBe(1);
      expect(of('replicas')).toMatchObject([
        { status: 'fail', found: expect.stringMatching(/^0 of the 1 .*refuses every lock/) },
      ]);
      // Redis before 7 does not check replicas when a script writes.
      const refused = { status: 'fail', found: expect.stringContaining('NOREPLICAS') };
      expect(of('lock')).toMatchObject([isBeforeRedis7 ? { status: 'ok' } : refused]);
    } finally {
      await settings('min-replicas-to-write', '0');
    }
  });

  it('role: a replica', async () => {
    await redis.admin.replicaof('127.0.0.1', 1);
    try {
      const { code, of } = await doctor(['--url', redis.url]);
      expect(code).toBe(1);
      expect(of('role')).toMatchObject([
        { status: 'fail', found: expect.stringMatching(/replica/) },
      ]);
      // There is nothing to be tried.
      expect(of('lock')).toEqual([]);
    } finally {
      await redis.admin.call('REPLICAOF', 'NO', 'ONE');
    }
  });

  it('keyPrefix: a url that moves keys and not channels', async () => {
    const { code, of } = await doctor(['--url', `${redis.url}?keyPrefix=app:`]);
    expect(code).toBe(1);
    expect(of('keyPrefix')).toMatchObject([
      { status: 'fail', found: expect.stringContaining('"app:"') },
    ]);
    // The rest was looked at without it.
    expect(of('message')).toMatchObject([{ status: 'ok' }]);
  });

  it('message: one that does not arrive', async () => {
    const lost = proxy.current.drop('toClient', { containing: '\r\nmessage\r\n' });
    const { code, of } = await doctor(['--url', proxy.current.url]);
    lost.heal();
    expect(code).toBe(0);
    expect(of('message')).toMatchObject([
      { status: 'warn', found: expect.stringMatching(/^no message arrived in 2 s/) },
    ]);
  });

  it.each([
    [-60_000, '60 s ahead of this machine'],
    [90_000, '90 s behind this machine'],
  ])('clock: ours is %p ms off', async (offMs, found) => {
    const clock = { ...systemClock, wall: () => Date.now() + offMs };
    const { code, of } = await doctor(['--url', redis.url], { clock });
    expect(code).toBe(0);
    expect(of('clock')).toMatchObject([{ status: 'warn', found: expect.stringContaining(found) }]);
  });

  it('looks at each of several servers', async () => {
    const { code, findings, of } = await doctor(['--url', redis.url, '--url', proxy.current.url]);
    expect(code).toBe(0);
    const nodes = [`127.0.0.1:${redis.port}`, `127.0.0.1:${proxy.current.port}`];
    expect(of('lock').map(({ node }) => node)).toEqual(nodes);
    expect(findings.at(-1)).toMatchObject({ check: 'clocks', status: 'ok' });
  });

  it('refuses an option in the url that the module refuses', async () => {
    const { code, err } = await run(['doctor', '--url', `${redis.url}?database=3`]);
    expect(code).toBe(2);
    expect(err).toContain('did you mean db?');
  });

  it('asks in the database of the url', async () => {
    expect(await doctor(['--url', `${redis.url}/5`])).toMatchObject({ code: 0 });
    expect((await doctor(['--url', `${redis.url}/999`])).of('connection')).toMatchObject([
      { status: 'fail', found: 'ERR DB index is out of range' },
    ]);
  });
});

const UNREADY = {
  ...{ check: 'lock', status: 'fail' },
  found: expect.stringMatching(/^ioredis does not become ready: .*LOCK_BACKEND$/),
  fix: expect.stringContaining('enableReadyCheck: false'),
};

describe('the doctor says what an application meets', () => {
  const servers: RedisServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  const without = async (...commands: string[]): Promise<RedisServer> => {
    const args = commands.flatMap((command) => ['--rename-command', command, '']);
    const server = await startRedisServer({ args });
    servers.push(server);
    return server;
  };

  /** As an application does with two processes, of which one waits for the other. */
  const handOver = async (connection: RedisOptions): Promise<void> => {
    const settings = { connection, waitTimeMs: 2_000 };
    const [ours, theirs] = [openLocks(settings), openLocks(settings)];
    try {
      const held = await ours.lock.acquire('a');
      const waiting = theirs.lock.acquire('a');
      await held.release();
      await (await waiting).release();
    } finally {
      await Promise.all([ours.close(), theirs.close()]);
    }
  };

  it('without INFO: nothing, unless it sets enableReadyCheck: false', async () => {
    const { url, host, port } = await without('INFO');
    await expect(handOver({ host, port })).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
    const { code, of } = await doctor(['--url', url]);
    expect(code).toBe(1);
    expect(of('lock')).toEqual([UNREADY]);
    expect(of('lock')[0]?.found).toContain('ERR unknown command');

    await handOver({ host, port, enableReadyCheck: false });
    const unchecked = await doctor(['--no-ready-check', '--url', url]);
    expect(unchecked.code).toBe(0);
    expect(unchecked.of('lock')).toMatchObject([{ status: 'ok' }]);
  });

  it('without PUBSUB: locks, and fewer chances for Java', async () => {
    const { url, host, port } = await without('PUBSUB');
    await handOver({ host, port });
    const { code, of } = await doctor(['--url', url]);
    expect(code).toBe(0);
    expect(of('permissions')).toMatchObject([
      {
        status: 'warn',
        found: expect.stringMatching(/not know pubsub\|numsub: Java .* once a sec/),
      },
    ]);
    expect(of('lock')).toMatchObject([{ status: 'ok' }]);
  });
});

describe('the doctor in a Cluster', () => {
  // This Cluster has 1 node; the specs of larger ones are in test/faults/command-line.spec.ts.
  const cluster = useRealRedis({
    args: [...['--cluster-enabled', 'yes', ...BUS.args], ...['--cluster-announce-ip', '127.0.0.1']],
  });
  const serve = (from: number, to: number) => addSlots(cluster.admin, from, to);
  const hasState = (state: string) =>
    eventually(async () =>
      (await cluster.admin.cluster('INFO')).includes(`cluster_state:${state}`),
    );

  it('says that it must be asked as one', async () => {
    const { code, of } = await doctor(['--url', cluster.url]);
    expect(code).toBe(1);
    expect(of('role')).toMatchObject([
      { status: 'fail', found: expect.stringContaining('checked as a single server') },
    ]);
  });

  it('tells of slots that no node serves', async () => {
    await serve(0, 16_000);
    const { code, of } = await doctor(['--cluster', '--url', cluster.url]);
    expect(code).toBe(1);
    expect(of('cluster')).toMatchObject([
      { status: 'fail', found: 'state fail, 16001 of 16384 slots served' },
    ]);
  });

  it('finds nothing that breaks locks when all are served', async () => {
    await serve(16_001, 16_383);
    await hasState('ok');
    const { code, of } = await doctor(['--cluster', '--url', cluster.url]);
    expect({ code, cluster: of('cluster') }).toMatchObject({
      code: 0,
      cluster: [{ status: 'ok' }],
    });
    expect(of('publish')).toMatchObject([{ status: isBeforeRedis7 ? 'warn' : 'ok' }]);
    expect(of('message')).toMatchObject([{ status: 'ok' }]);
  });

  describeIfSharded('that has sharded messages', () => {
    it('is never ready for a user without CLUSTER INFO', async () => {
      await cluster.admin.acl('SETUSER', 'shop', 'on', '>pw', '~*', '&*', '+@all', '-cluster|info');
      const env = { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
      const { code, of } = await doctor(['--cluster', '--url', cluster.url], { env });
      expect(code).toBe(1);
      expect(of('lock')).toEqual([UNREADY]);
      const unchecked = await doctor(['--no-ready-check', '--cluster', '--url', cluster.url], {
        env,
      });
      expect(unchecked.of('lock')).toMatchObject([{ status: 'ok' }]);
    });

    it('misses the right to sharded messages', async () => {
      const rules = ['on', '>pw', '~*', '&*', '+@all', '-pubsub|shardnumsub'];
      await cluster.admin.acl('SETUSER', 'shop', ...rules);
      const env = { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' };
      const plain = await doctor(['--cluster', '--url', cluster.url], { env });
      expect(plain.of('publish')).toMatchObject([{ status: 'warn' }]);
      expect(plain.of('message')).toMatchObject([{ status: 'ok' }]);
      expect(plain.of('permissions')).toMatchObject([
        { status: 'warn', fix: 'ACL SETUSER shop +pubsub|shardnumsub' },
      ]);
      expect(await cluster.admin.keys('*')).toEqual([]);
    });
  });
});
