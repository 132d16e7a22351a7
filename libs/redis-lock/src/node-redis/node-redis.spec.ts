import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { NODE_REDIS_VERSIONS } from '../../../../test/support/node-redis-versions.js';
import { LockConfigurationError } from '../core/api/errors.js';
import { chooseClient } from '../ioredis/choose-client.js';
import { nodeRedis } from './node-redis.js';

/** No client of this file connects. */
const choose = (source: object) => chooseClient(nodeRedis(source)).client;
const SENTINEL = { name: 'm', sentinelRootNodes: [{ host: 's1', port: 26379 }] };
const CLUSTER = { rootNodes: [{ url: 'redis://c1:7000' }] };

describe.each(NODE_REDIS_VERSIONS)('nodeRedis() with %s', (version, from) => {
  const { createClient, createCluster, createSentinel } = from;
  const has6 = version.endsWith('6');

  it.each<[string, string, () => object]>([
    ['a client', 'server', () => createClient({ url: 'redis://host:1234/2' })],
    ['a cluster', 'cluster', () => createCluster(CLUSTER)],
    ['a sentinel', 'sentinel', () => createSentinel(SENTINEL)],
  ])('takes %s, and opens connections of its own', (_, topology, make) => {
    const { client, isOurs } = chooseClient(nodeRedis(make()));
    expect(client).toMatchObject({ topology, status: 'idle', isReady: false, reconnects: true });
    expect(isOurs).toBe(true);
    client.end();
    expect(client.status).toBe('ended');
  });

  it('reads the way to the server from a client', () => {
    const client = choose(createClient({ url: 'rediss://user:secret@host:1234/2' }));
    expect(client).toMatchObject({ address: 'host:1234', database: 2 });
    expect(client.route).toEqual({
      ...{ hosts: ['host'], user: 'user', hasPassword: true, isEncrypted: true },
    });
  });

  it.each<[string, string, () => object]>([
    ['readonly', 'reads from a replica', () => createClient({ readonly: true })],
    ['a legacy client', 'it is a legacy client', () => legacyOf(createClient({}))],
    ['a pool', 'it is a pool', () => poolOf(createClient({}))],
  ])('refuses %s', (_, help, make) => {
    const source = make();
    expect(() => nodeRedis(source)).toThrow(LockConfigurationError);
    expect(() => nodeRedis(source)).toThrow(help);
  });

  // Version 5 has none.
  if (has6) {
    it.each<[string, () => object]>([
      ['a client', () => createClient({ keyPrefix: 'app:' })],
      ['a cluster', () => createCluster({ ...CLUSTER, keyPrefix: 'app:' })],
      ['a sentinel', () => createSentinel({ ...SENTINEL, keyPrefix: 'app:' })],
    ])('refuses the keyPrefix of %s', (_, make) => {
      expect(() => nodeRedis(make())).toThrow('set keyPrefix of the locks');
    });
  }
});

const legacyOf = (client: object) => (client as { legacy(): object }).legacy();
const poolOf = (client: object) => (client as { createPool(): object }).createPool();

describe('nodeRedis() with options', () => {
  it('opens nothing, and leaves the options as they are', () => {
    const options = { url: 'rediss://user:secret@host:1234/2', socket: { noDelay: true } };
    const client = choose(options);
    expect(client).toMatchObject({ address: 'host:1234', database: 2, status: 'idle' });
    expect(client.route).toEqual({
      ...{ hosts: ['host'], user: 'user', hasPassword: true, isEncrypted: true },
    });
    expect(options).toEqual({
      ...{ url: 'rediss://user:secret@host:1234/2', socket: { noDelay: true } },
    });
  });

  it('knows a Cluster and Sentinel by their root nodes', () => {
    const defaults = { username: 'user', password: 'secret', socket: { tls: true } };
    const cluster = choose({ ...CLUSTER, defaults });
    expect(cluster.topology).toBe('cluster');
    expect(cluster.route).toEqual({
      ...{ hosts: ['c1'], user: 'user', hasPassword: true, isEncrypted: true },
    });
    const sentinel = choose({ ...SENTINEL, nodeClientOptions: { password: 'secret' } });
    expect(sentinel.topology).toBe('sentinel');
    expect(sentinel.route).toMatchObject({ hosts: ['s1'], hasPassword: true, isEncrypted: false });
  });

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'is an environment variable missing?'],
    ['null', null, 'not null'],
    ['a text', 'redis://user:s3cret@host', 'write { url }'],
    ['an array', [], 'not an array'],
    ['a promise', Promise.resolve({}), 'not a Promise'],
    ['its own result', nodeRedis({ url: 'redis://r' }), 'the result of nodeRedis() already'],
    ['a client of ioredis', new Redis({ lazyConnect: true }), 'a client of ioredis'],
    ['a url that is none', { url: 'user:s3cret@host' }, 'its url must begin with redis://'],
    ['another protocol', { url: 'http://user:s3cret@host' }, 'its url must begin with redis://'],
    ['an ioredis option', { host: 'redis' }, 'its host belongs under socket: { host }'],
    ['a port outside of socket', { port: 6379 }, 'its port belongs under socket: { port }'],
    ['the database of ioredis', { db: 2 }, 'its db is called database'],
    ['the sentinels of ioredis', { sentinels: [] }, 'sentinelRootNodes'],
    ['a url that is undefined', { url: undefined }, 'is an environment variable missing?'],
    ['a host that is undefined', { socket: { host: undefined } }, 'it names no server'],
    ['a misspelt url', { urll: 'redis://user:s3cret@host' }, 'it names no server'],
    ['a root node without a url', { rootNodes: [{ url: undefined }] }, 'it names no server'],
    ['half a database', { database: 1.5 }, 'its database must be a whole number'],
    ['a keyPrefix', { url: 'redis://r', keyPrefix: 'app:' }, 'set keyPrefix of the locks'],
    ['readonly', { url: 'redis://r', readonly: true }, 'reads from a replica'],
    ['no root node', { rootNodes: [] }, 'its rootNodes must be a list'],
    ['no sentinel', { name: 'm', sentinelRootNodes: [] }, 'its sentinelRootNodes must be a list'],
    ['no name', { sentinelRootNodes: [{ host: 's' }] }, 'the name of their master'],
    ['a Cluster with a database', { ...CLUSTER, defaults: { database: 1 } }, 'only database 0'],
  ])('refuses %s with a sentence that helps, and shows no password', (_, source, help) => {
    const attempt = () => choose(source as object);
    expect(attempt).toThrow(LockConfigurationError);
    expect(attempt).toThrow(help);
    expect(attempt).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('s3cret') as unknown }),
    );
  });

  it('refuses what node-redis itself refuses, without the url', () => {
    const options = { url: 'redis://user:s3cret@host/abc' };
    expect(() => choose(options)).toThrow('node-redis refuses these options');
    expect(() => choose(options)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('s3cret') as unknown }),
    );
  });
});
