import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { COMMANDS } from '../../libs/redis-lock/src/cli/permissions.js';
import { CHANNEL_PATTERNS, keyPatterns } from '../support/acl-rules.js';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { openConnection } from '../support/open-connection.js';
import { LockService } from '../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { doctor, run } from '../cli/command.js';
import { describeIfSharded } from '../support/server-facts.js';
import { ClusterGroup, SentinelGroup } from '../support/topology.js';

const urlOf = ({ port }: { port: number }) => `redis://127.0.0.1:${String(port)}`;

describe('the command line and a Cluster of three', () => {
  let group: ClusterGroup;
  beforeAll(async () => (group = await ClusterGroup.start({ replicated: false })));
  afterAll(() => group.stop());

  const keysLeft = async () =>
    (await Promise.all(group.nodes.map(({ admin }) => admin.keys('*')))).flat();

  describeIfSharded('whose users may use sharded messages', () => {
    it('looks at every master, with no more than the rights of the locks', async () => {
      const { database: _, ...commands } = COMMANDS;
      const rules = [
        ...['on', '>secret', 'resetchannels', '-@all', '+config|get'],
        ...keyPatterns('shop:').map((pattern) => `~${pattern}`),
        ...CHANNEL_PATTERNS.map((pattern) => `&${pattern}`),
        ...Object.values(commands)
          .flat()
          .map((command) => `+${command}`),
      ];
      for (const { admin } of group.nodes) await admin.acl('SETUSER', 'shop', ...rules);
      const [, second] = group.addresses;
      const url = urlOf(second as { port: number }).replace('//', '//shop:secret@');
      const { code, of } = await doctor(['--cluster', '--url', url, '--key-prefix', 'shop:']);
      expect(code).toBe(0);
      const names = group.addresses.map(({ port }) => `127.0.0.1:${String(port)}`).sort();
      for (const check of ['ping', 'server', 'permissions', 'lock', 'message']) {
        expect(
          of(check)
            .map(({ node, status }) => [node, status])
            .sort(),
        ).toEqual(names.map((name) => [name, 'ok']));
      }
      expect(of('cluster')).toMatchObject([{ status: 'ok' }]);
      expect(of('clocks')).toMatchObject([{ status: 'ok' }]);
      for (const { admin } of group.nodes) expect(await admin.acl('LOG')).toEqual([]);
      expect(await keysLeft()).toEqual([]);
    });

    it('names the right that is missing on one node', async () => {
      const [first] = group.masters;
      for (const { admin } of group.nodes) {
        await admin.acl('SETUSER', 'poor', 'on', '>secret', '~*', '&*', '+@all');
      }
      await first?.admin.acl('SETUSER', 'poor', '-hset', '-ssubscribe');
      const url = urlOf(group.addresses[1] as { port: number }).replace('//', '//poor:secret@');
      const { code, of } = await doctor(['--cluster', '--url', url]);
      expect(code).toBe(1);
      const node = `127.0.0.1:${String(first?.server.port)}`;
      expect(of('permissions').filter(({ status }) => status !== 'ok')).toMatchObject([
        { node, status: 'fail', fix: 'ACL SETUSER poor +hset' },
        { node, status: 'warn', fix: 'ACL SETUSER poor +ssubscribe' },
      ]);
    });
  });

  it('inspects and frees a name wherever it lives', async () => {
    const client = group.connect();
    const context = new LockContext(openConnection(client));
    const locks = new LockService(context);
    const names = ['product_1', 'product_2', 'product_3', 'product_4'];
    const leases = await Promise.all(names.map((name) => locks.acquire(name, { fenced: true })));
    const args = ['--cluster', '--json', ...group.addresses.flatMap((at) => ['--url', urlOf(at)])];
    const answerTo = async (...command: string[]) => {
      const { code, out } = await run([...command, ...args]);
      expect(code).toBe(0);
      return JSON.parse(out) as unknown;
    };
    try {
      for (const { name, owner, fencingToken } of leases) {
        const holders = [{ owner, holdCount: 1 }];
        const look = { kinds: ['lock'], holders, fencingToken };
        expect(await answerTo('inspect', name)).toMatchObject({ nodes: [look] });
        expect(await answerTo('unlock', name, '--yes')).toMatchObject({ taken: [{ holders }] });
        expect(await locks.get(name).isLocked()).toBe(false);
      }
    } finally {
      await context.close();
      client.disconnect();
    }
  });
});

describe('the command line and sentinels', () => {
  let group: SentinelGroup;
  beforeAll(async () => (group = await SentinelGroup.start()));
  afterAll(() => group.stop());

  it('asks the present master, and tells of its replicas', async () => {
    const { sentinels, name } = group.connection;
    const urls = sentinels.flatMap((sentinel) => ['--url', urlOf(sentinel)]);
    const { code, of } = await doctor(['--sentinel', name, ...urls]);
    expect(code).toBe(0);
    expect(of('role')).toMatchObject([{ status: 'ok' }]);
    expect(of('message')).toMatchObject([{ status: 'ok' }]);
    expect(of('replicas')).toMatchObject([
      { status: 'warn', found: expect.stringContaining('minReplicas may be up to 2') },
    ]);
    await group.master.admin.config('SET', 'min-replicas-to-write', '1');
    expect((await doctor(['--sentinel', name, ...urls])).of('replicas')).toMatchObject([
      { status: 'ok' },
    ]);
    expect((await run(['inspect', 'a', '--sentinel', name, ...urls])).out).toContain(': free');
  });
});
