import { describe, expect, it } from '@jest/globals';
import type { RedisOptions } from 'ioredis';
import type { RedisOptions as RedisOptions5 } from 'ioredis-5';
import { optionsProblem } from './connection-options.js';

const run = () => null;

/** A value that works for each option that a version of ioredis declares, as the compiler checks. */
const VALUES = {
  ...{ host: 'redis', port: 6379, path: '/tmp/redis.sock', family: 4, tls: {}, username: 'x' },
  ...{ password: 'x', db: 3, keyPrefix: '', connectionName: 'x', connectTimeout: 500 },
  ...{ commandTimeout: 500, socketTimeout: 0, disconnectTimeout: 5, blockingTimeout: 5 },
  ...{ blockingTimeoutGrace: 5, keepAlive: 0, noDelay: true, lazyConnect: false, Connector: run },
  ...{ retryStrategy: run, reconnectOnError: run, maxRetriesPerRequest: 3 },
  ...{ maxLoadingRetryTime: 5, enableReadyCheck: false, enableOfflineQueue: true },
  ...{ offlineQueue: true, commandQueue: true, autoResubscribe: true },
  ...{ autoResendUnfulfilledCommands: true, readOnly: false, stringNumbers: false },
  ...{ monitor: false, enableAutoPipelining: true, autoPipeliningIgnoredCommands: ['get'] },
  ...{ scripts: {}, himportFieldsets: [], showFriendlyErrorStack: true, protocol: 3 },
  ...{ replyMapping: 'legacy', disableClientInfo: true, clientInfoTag: 'x', role: 'master' },
  ...{ sentinels: [{ host: 's', port: 26379 }], name: 'mymaster', natMap: {} },
  ...{ sentinelUsername: 'x', sentinelPassword: 'x', sentinelTLS: {}, preferredSlaves: run },
  ...{ enableTLSForSentinelMode: false, sentinelCommandTimeout: 5, updateSentinels: true },
  ...{ sentinelRetryStrategy: run, sentinelReconnectStrategy: run, sentinelMaxConnections: 3 },
  ...{ failoverDetector: true },
} satisfies Record<keyof RedisOptions | keyof RedisOptions5, unknown>;

/** Neither is of use without the other. */
const SENTINEL = { sentinels: VALUES.sentinels, name: VALUES.name };

describe('optionsProblem', () => {
  it.each(Object.entries(VALUES))('takes %s: %p, undefined and null', (option, value) => {
    const beside = option in SENTINEL ? SENTINEL : {};
    expect(optionsProblem({ ...beside, [option]: value })).toBeUndefined();
    expect(optionsProblem({ [option]: undefined })).toBeUndefined();
    if (option !== 'port') expect(optionsProblem({ [option]: null })).toBeUndefined();
  });

  it.each(Object.keys(VALUES))('refuses a value of %s that is none', (option) => {
    for (const value of [5n, Symbol('x'), NaN, -1]) {
      expect(optionsProblem({ [option]: value })).toContain(`its ${option} must be`);
    }
  });

  it.each([
    [{ connectTimeout: 'x' }, 'whole number from 0 to 2147483647, not "x"'],
    [{ commandTimeout: 'abc' }, 'not "abc"'],
    [{ commandTimeout: '500' }, 'not "500"'],
    [{ connectTimeout: Infinity }, 'not Infinity'],
    [{ socketTimeout: 1.5 }, 'not 1.5'],
    [{ keepAlive: true }, 'not true'],
    [{ maxRetriesPerRequest: '3' }, 'not "3"'],
    [{ enableReadyCheck: 'false' }, 'must be true or false, not "false"'],
    [{ host: 5 }, 'must be a text, not 5'],
    [{ port: 'x' }, 'must be a port from 1 to 65535, not "x"'],
    [{ port: 65_536 }, 'must be a port'],
    [{ port: null }, 'must be a port'],
    [{ retryStrategy: 50 }, 'must be a function, not 50'],
    [{ Connector: '' }, 'must be a function'],
    [{ role: 'replica' }, 'must be "master" or "slave", not "replica"'],
    [{ sentinels: [], name: 'm' }, 'a list of one address or more'],
    [{ sentinels: ['s:26379'], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: new Array(1), name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ port: 'x' }], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ hostname: 's' }], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ host: 's' }] }, "such as name: 'mymaster'"],
    [{ name: 'mymaster' }, 'it has no sentinels'],
  ])('refuses %p', (options, reason) => {
    expect(optionsProblem(options)).toContain(reason);
  });

  const URL_ITSELF = "pass the url itself, as in connection: 'redis://…'";
  const DIRECTLY = 'directly into connection, or pass a client: connection: new Cluster(…)';

  it.each([
    ['url', URL_ITSELF],
    ['uri', URL_ITSELF],
    ['ulr', URL_ITSELF],
    ['connectionString', URL_ITSELF],
    ['hots', 'did you mean host?'],
    ['hostname', 'did you mean host?'],
    ['server', 'did you mean host?'],
    ['REDIS_HOST', 'did you mean host?'],
    ['prot', 'did you mean port?'],
    ['database', 'did you mean db?'],
    ['DB', 'did you mean db?'],
    ['user', 'did you mean username?'],
    ['pass', 'did you mean password?'],
    ['pasword', 'did you mean password?'],
    ['masterName', 'did you mean name?'],
    ['connectTimout', 'did you mean connectTimeout?'],
    ['connect_timeout', 'did you mean connectTimeout?'],
    ['maxRetriesPerRequests', 'did you mean maxRetriesPerRequest?'],
    ['keyprefix', 'did you mean keyPrefix?'],
    ['retrystrategy', 'did you mean retryStrategy?'],
    ['socket', DIRECTLY],
    ['scaleReads', DIRECTLY],
    ['redisOptions', DIRECTLY],
  ])('refuses the name %s with a hint', (option, hint) => {
    expect(optionsProblem({ [option]: 1 })).toContain(`it has the unknown option "${option}"`);
    expect(optionsProblem({ [option]: undefined })).toContain(hint);
  });

  it('refuses every option without one of its letters', () => {
    for (const option of Object.keys(VALUES).filter((name) => name.length > 3)) {
      for (let index = 0; index < option.length; index += 1) {
        const misspelt = option.slice(0, index) + option.slice(index + 1);
        expect(optionsProblem({ [misspelt]: 1 })).toContain('did you mean ');
      }
    }
  });

  it.each([
    'maintNotifications',
    'hostAddressFamily',
    'socketKeepAlive',
    'retryStrategyMs',
    'dns',
    'id',
  ])('takes %s, which may be an option of a newer ioredis, unless its value is a url', (option) => {
    expect(optionsProblem({ host: 'redis', [option]: 'x' })).toBeUndefined();
    expect(optionsProblem({ [option]: 'rediss://h' })).toContain(URL_ITSELF);
  });

  it('refuses symbols, and shows no name that may be a part of a url', () => {
    for (const name of [Symbol('s3cret'), 's3cret@host']) {
      expect(optionsProblem({ [name]: 1 })).toBe('it has an option that ioredis does not know');
    }
  });
});
