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

  it.each(['port', 'db', 'sentinels', 'connectTimeout', 'reconnectOnError'])(
    'refuses a value of %s that is none',
    (option) => {
      for (const value of [5n, Symbol('x'), NaN, -1, 'x']) {
        expect(optionsProblem({ [option]: value })).toContain(`its ${option} must be`);
      }
    },
  );

  it.each([
    [{ connectTimeout: '500' }, 'a number that is not below 0, not "500"'],
    [{ connectTimeout: Infinity }, 'not Infinity'],
    [{ port: 65_536 }, 'must be a port from 1 to 65535, not 65536'],
    [{ port: null }, 'must be a port'],
    [{ sentinels: [], name: 'm' }, 'a list of one address or more'],
    [{ sentinels: ['s:26379'], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: new Array(1), name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ port: 'x' }], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ hots: 's' }], name: 'm' }, 'such as [{ host:'],
    [{ sentinels: [{ host: 's' }] }, "such as name: 'mymaster'"],
    [{ name: 'mymaster' }, 'it has no sentinels'],
    [{ socket: { host: 'redis' } }, 'pass nodeRedis(options)'],
    [{ rootNodes: [{ url: 'redis://c1' }] }, 'pass nodeRedis(options)'],
    [{ nodes: [{ host: 'c1' }] }, 'pass a Cluster client'],
  ])('refuses %p', (options, reason) => {
    expect(optionsProblem(options)).toContain(reason);
  });

  it.each([
    ['hots', 'host'],
    ['prot', 'port'],
    ['DB', 'db'],
    ['connectTimout', 'connectTimeout'],
    ['connect_timeout', 'connectTimeout'],
    ['maxRetriesPerRequests', 'maxRetriesPerRequest'],
    ['keyprefix', 'keyPrefix'],
    ['database', 'db'],
    ['hostName', 'host'],
    ['masterName', 'name'],
  ])('refuses the name %s: did you mean %s?', (option, meant) => {
    const problem = `it has the unknown option "${option}"; did you mean ${meant}?`;
    expect(optionsProblem({ [option]: 1 })).toBe(problem);
    expect(optionsProblem({ [option]: undefined })).toBe(problem);
  });

  it('refuses every option without one of its letters', () => {
    for (const option of Object.keys(VALUES).filter((name) => name.length > 3)) {
      for (let index = 0; index < option.length; index += 1) {
        const misspelt = option.slice(0, index) + option.slice(index + 1);
        expect(optionsProblem({ [misspelt]: 1 })).toContain('did you mean ');
      }
    }
  });

  it.each(['maintNotifications', 'socketKeepAlive', 'retryStrategyMs', 'dns', 'id'])(
    'takes %s, which may be an option of a newer ioredis, unless its value is a url',
    (option) => {
      expect(optionsProblem({ host: 'redis', [option]: 'x' })).toBeUndefined();
      expect(optionsProblem({ [option]: 'rediss://h' })).toContain('pass the url itself');
      expect(optionsProblem({ url: undefined })).toContain('pass the url itself');
    },
  );
});
