import { describe, expect, it } from '@jest/globals';
import { warningsIn } from './set-up-warnings.js';

const infoOf = (version: string, ...lines: string[]) =>
  ['# Server', `redis_version:${version}`, ...lines, 'maxmemory_policy:noeviction'].join('\r\n');

/** Servers that this machine does not have, by their INFO; the numbers are d.9's. */
describe('warningsIn', () => {
  it.each([
    [infoOf('6.0.6')],
    [infoOf('6.2.14')],
    [infoOf('7.0.15')],
    [infoOf('8.4.0')],
    [infoOf('10.0.0')],
    [infoOf('7.2.4', 'server_name:valkey', 'valkey_version:8.0.1')],
    [''],
  ])('d.9/163 finds nothing wrong with %j', (info) => {
    expect(warningsIn(info)).toEqual([]);
  });

  it.each(['2.8.24', '5.0.14', '6.0.5'])('d.9/163 warns of Redis %s', (version) => {
    expect(warningsIn(infoOf(version))).toEqual([
      `This server is compatible with Redis ${version}; fair locks need 6.0.6 or newer`,
    ]);
  });

  it.each([
    ['Dragonfly', infoOf('6.2.11', 'dragonfly_version:df-v1.21.0')],
    ['KeyDB', infoOf('6.3.4', 'executable:/usr/bin/keydb-server')],
  ])('d.9/163 warns of %s, which is no Redis', (name, info) => {
    expect(warningsIn(info)).toEqual([`This server is ${name}, on which locks are not tested`]);
  });

  it('d.9/164 names the policy by which locks are thrown away', () => {
    const [warning] = warningsIn('redis_version:7.0.0\nmaxmemory_policy:allkeys-lru\n');
    expect(warning).toContain('maxmemory-policy is allkeys-lru; set it to noeviction');
  });
});
