import { afterEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import * as iovalkey from 'iovalkey';
import { LockConfigurationError } from '../core/api/errors.js';
import { isCluster, reconnectDelayMs } from '../connection/client.js';
import { chooseClient, type ConnectionOption } from './choose-client.js';
import type { IoredisClient } from './ioredis-client.js';

describe('chooseClient', () => {
  const clients: (Redis | Cluster)[] = [];
  /** No client of this file connects. */
  const LAZY = { lazyConnect: true } as const;
  const choose = (connection: unknown) => {
    const { client, isOurs } = chooseClient(connection);
    const { inner } = client as unknown as IoredisClient<Redis>;
    clients.push(inner);
    return { client, inner, isOurs };
  };

  afterEach(() => {
    for (const client of clients.splice(0)) {
      expect(client.status).toBe('wait');
      client.disconnect();
    }
  });

  it.each([
    ['redis://127.0.0.1:6380', { host: '127.0.0.1', port: 6380, db: 0 }],
    ['redis://user:pa%25ss@host/3', { host: 'host', username: 'user', password: 'pa%ss', db: 3 }],
    ['redis://:secret@host', { host: 'host', password: 'secret' }],
    ['rediss://host:6390', { host: 'host', port: 6390, tls: true }],
    ['redis://[::1]:6379', { host: '::1', port: 6379 }],
    ['/tmp/redis.sock', { path: '/tmp/redis.sock' }],
  ])('opens the url %s', (url, options) => {
    const { inner, isOurs } = choose(url);
    expect(isOurs).toBe(true);
    expect(inner.options).toMatchObject(options);
    expect(inner.options).toMatchObject({ retryStrategy: reconnectDelayMs });
  });

  it('opens options, and prefers what they say to what we would', () => {
    const options = { host: 'redis', port: 7000, password: 'x', db: 2, connectTimeout: 77 };
    const { inner, isOurs } = choose({ ...options, lazyConnect: false, replyMapping: 'resp3' });
    expect(isOurs).toBe(true);
    expect(inner.options).toMatchObject({ ...options, replyMapping: 'legacy' });
  });

  it('opens options for Sentinel', () => {
    const sentinels = [{ host: 's1', port: 26379 }];
    const { inner, isOurs } = choose({ sentinels, name: 'mymaster' });
    expect(isOurs).toBe(true);
    expect(inner.options).toMatchObject({ sentinels, name: 'mymaster', role: 'master' });
  });

  it('opens empty options as the default server', () => {
    expect(choose({}).inner.options).toMatchObject({ host: 'localhost', port: 6379 });
  });

  it.each<[string, () => Redis | Cluster]>([
    ['a Redis', () => new Redis({ ...LAZY })],
    ['a Redis for Sentinel', () => new Redis({ ...LAZY, sentinels: [{ host: 's' }], name: 'm' })],
    ['a Cluster', () => new Cluster([{ host: 'c', port: 7000 }], LAZY)],
  ])('takes %s of the caller as it is, which is not ours', (_, make) => {
    const made = make();
    const { client, inner, isOurs } = choose(made);
    expect(inner).toBe(made);
    expect(isOurs).toBe(false);
    expect(isCluster(client)).toBe(made instanceof Cluster);
  });

  it('takes a client of another copy of ioredis', () => {
    class Other extends Redis {}
    const other = new Proxy(new Other(LAZY), { getPrototypeOf: () => Object.prototype });
    expect(choose(other)).toMatchObject({ isOurs: false });
  });

  const PREFIXED: RedisOptions = { ...LAZY, keyPrefix: 'app:' };
  const STUCK: RedisOptions = { ...LAZY, autoResendUnfulfilledCommands: false };
  const TEXTS: RedisOptions = { ...LAZY, stringNumbers: true };
  const READING: RedisOptions = { ...LAZY, readOnly: true };
  const SLAVE: RedisOptions = { ...LAZY, sentinels: [{ host: 's' }], name: 'm', role: 'slave' };

  it.each([
    ['keyPrefix', PREFIXED, 'set keyPrefix of the locks'],
    ['autoResendUnfulfilledCommands: false', STUCK, 'pending after a cut'],
    ['stringNumbers', TEXTS, 'remove it'],
    ['readOnly', READING, 'connect to the master'],
    ['role: slave', SLAVE, 'connect to the master'],
  ])('refuses %s, in options and in a client, with a sentence that helps', (_, options, help) => {
    const client = new Redis(options as never);
    const cluster = new Cluster([{ host: 'c' }], { ...LAZY, redisOptions: options as never });
    for (const connection of [options, client, cluster]) {
      expect(() => chooseClient(connection)).toThrow(LockConfigurationError);
      expect(() => chooseClient(connection)).toThrow(help);
    }
    client.disconnect();
    cluster.disconnect();
  });

  it('refuses what a Cluster itself has been told', () => {
    const cluster = new Cluster([{ host: 'c' }], { ...LAZY, keyPrefix: 'app:' });
    expect(() => chooseClient(cluster)).toThrow('keyPrefix');
    cluster.disconnect();
  });

  it.each([
    ...['redis://host?keyPrefix=app:', 'redis://host?role=slave', 'redis://host?readOnly=true'],
    ...['redis://host?stringNumbers=true', '/tmp/sock?keyPrefix=app:'],
    '/tmp/sock?stringNumbers=yes',
  ])('refuses options that cannot be used also in a url: %s', (url) => {
    expect(() => chooseClient(url)).toThrow(LockConfigurationError);
  });

  it.each(['readOnly', 'stringNumbers'])(
    'refuses every value of %s but false, and of a client all that ioredis takes for true',
    (option) => {
      for (const on of ['true', '1', 'no', 'false', 1, {}]) {
        const connections = [{ [option]: on }, new Redis({ ...LAZY, [option]: on })];
        for (const connection of connections) {
          expect(() => chooseClient(connection)).toThrow(LockConfigurationError);
        }
      }
      for (const off of [undefined, null, false]) choose({ [option]: off });
      for (const off of [0, '']) choose(new Redis({ ...LAZY, [option]: off }));
    },
  );

  it('takes an empty keyPrefix for none', () => {
    choose({ keyPrefix: '' });
  });

  class NodeRedis {
    isOpen = false;
    sendCommand() {
      return Promise.resolve();
    }
  }
  const wrapped = { connect: () => undefined, sendCommand: () => undefined };
  const revoked = () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  class FancyOptions {
    host = 'x';
  }
  it.each([
    ['undefined', undefined, 'is an environment variable missing?'],
    ['null', null, 'not null'],
    ['a port', 6379, 'not 6379'],
    ['NaN', NaN, 'not NaN'],
    ['true', true, 'not true'],
    ['a bigint', 1n, 'not 1n'],
    ['a symbol', Symbol('x'), 'not a symbol'],
    ['a function', () => new Redis(LAZY), 'not a function'],
    ['an array', ['redis://a', 'redis://b'], 'not an array'],
    ['a promise', Promise.resolve(new FancyOptions()), 'not a Promise'],
    ['a class of its own', new FancyOptions(), 'not a FancyOptions'],
    ['a Date', new Date(), 'not a Date'],
    ['a URL object', new URL('redis://host'), 'not a URL'],
    ['a client of node-redis', new NodeRedis(), 'such as node-redis'],
    ['something around one', wrapped, 'such as node-redis'],
    ['an empty text', '', 'it is empty'],
    ['a host without a protocol', 'localhost:6379', 'begins with redis://'],
    ['another protocol', 'http://localhost:6379', 'begins with redis://'],
    ['a url with an impossible port', 'redis://host:99999', 'begins with redis://'],
    ['a url whose database is no number', 'redis://host/abc', 'database number'],
    ['a url whose database is below 0', 'redis://host/-1', 'its db must be'],
    ['options with half a database', { db: 1.5 }, 'its db must be'],
    ['half a database in a url', 'redis://host/1.5', 'its db must be'],
    ['a database with an exponent', 'redis://host/1e1', 'its db must be'],
    ['a hexadecimal database', 'redis://host/0x1', 'its db must be'],
    ['two databases', 'redis://host/1/2', 'its db must be'],
    ['a space before a url', ' redis://host', 'it holds white space'],
    ['a line feed behind a url', 'redis://host\n', 'it holds white space'],
    ['a url without a protocol', '//host:6379', 'begins with redis://'],
    ['TLS that ioredis would leave out', 'REDISS://host', 'begins with redis://'],
    ['port 0', 'redis://host:0', 'its port must be'],
    ['a bare #', 'redis://host#x', '%23'],
    ['a password with a bare ?', 'redis://user:12?s3cret@host', '%3F'],
    ['a number in a url', 'redis://host?connectTimeout=5', 'a url holds texts only'],
    ['a typo in a url', 'redis://host?usrname=x', 'did you mean username?'],
    ['a typo behind a socket', '/tmp/redis.sock?passwrd=x', 'did you mean password?'],
    ['a revoked proxy', revoked(), 'not an object'],
    ['options that only monitor', { monitor: true }, 'it only monitors'],
    ['a password with a bare %', 'redis://user:pa%ss@host', '%25'],
  ])('refuses %s with a sentence that helps', (_, connection, help) => {
    expect(() => chooseClient(connection)).toThrow(LockConfigurationError);
    expect(() => chooseClient(connection)).toThrow(help);
  });

  it.each([
    ...['http://user:s3cret@host', 'user:s3cret@host', 'redis://user:s3cr%et@host'],
    ...[' redis://user:s3cret@host', 'redis://user:12?s3cret@host', 'redis://user:12/s3cret@host'],
    ...[{ sentinels: 'redis://:s3cret@host' }, { connectTimeout: 'redis://:s3cret@host' }],
  ])('never shows a password: %s', (connection) => {
    expect(() => chooseClient(connection)).toThrow(
      expect.objectContaining({ message: expect.not.stringMatching(/s3cr/) as unknown }),
    );
  });

  it('reconnects soon, and never slower than twice a second', () => {
    expect([1, 2, 3, 4, 5, 50].map(reconnectDelayMs)).toEqual([50, 100, 200, 400, 500, 500]);
  });

  it('is typed for what it takes', () => {
    const fork = [new iovalkey.Redis(LAZY), new iovalkey.Cluster([{ host: 'c' }], LAZY)];
    const options: ConnectionOption[] = ['redis://host', {}, new Redis(LAZY), ...fork];
    for (const option of options) choose(option);
  });
});
