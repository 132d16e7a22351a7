import { describe, expect, it } from '@jest/globals';

import { judgeClocks } from './clocks.js';
import { judgeSettings } from './settings.js';

const INFO = {
  ...{ redis_version: '7.0.15', role: 'master', cluster_enabled: '0' },
  ...{ maxmemory: '0', maxmemory_policy: 'noeviction', connected_slaves: '0', aof_enabled: '1' },
};

function judge(lines: Record<string, string | undefined>, config: Record<string, string> = {}) {
  const all: Record<string, string | undefined> = { ...INFO, ...lines };
  const info = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value = '']) => `${name}:${value}`)
    .join('\r\n');
  const facts = { info, config: new Map(Object.entries(config)), asCluster: false };
  return new Map(judgeSettings(facts).map((finding) => [finding.check, finding]));
}

describe('what a server says of itself', () => {
  it.each([
    [{}, 'ok', 'Redis 7.0.15'],
    [{ redis_version: '8.2.1' }, 'ok', 'Redis 8.2.1'],
    [{ redis_version: '6.2.0' }, 'ok', 'Redis 6.2.0'],
    [{ redis_version: '6.0.20' }, 'warn', 'no longer maintained'],
    [{ redis_version: '6.0.5' }, 'fail', 'LPOS'],
    [{ redis_version: '5.0.14' }, 'fail', 'LPOS'],
    [{ redis_version: '255.255.255' }, 'ok', 'Redis 255'],
    [
      { redis_version: '7.2.4', server_name: 'valkey', valkey_version: '8.1.0' },
      'ok',
      'Valkey 8.1.0',
    ],
    [{ redis_version: '6.3.4', mvcc_depth: '0' }, 'warn', 'KeyDB 6.3.4'],
    [{ redis_version: '6.3.4', executable: '/usr/bin/keydb-server' }, 'warn', 'KeyDB'],
    [{ redis_version: '7.4.0', dragonfly_version: 'df-v1.30.0' }, 'warn', 'Dragonfly df-v1.30.0'],
  ])('%j is %s', (lines, status, found) => {
    expect(judge(lines).get('server')).toMatchObject({
      ...{ status, found: expect.stringContaining(found) },
    });
  });

  it.each([
    [{ rdb_last_bgsave_status: 'err' }, 'rdb_last_bgsave_status'],
    [{ aof_last_write_status: 'err' }, 'aof_last_write_status'],
  ])('a failed attempt to save may stop all writes: %j', (lines, found) => {
    expect(judge(lines).get('persistence')).toMatchObject({
      ...{ status: 'warn', found: expect.stringContaining(found) },
    });
  });

  it.each([
    [{}, {}, 'ok', 'none: minReplicas must be 0'],
    [{ connected_slaves: '2' }, { 'min-replicas-to-write': '0' }, 'warn', 'up to 2'],
    [{ connected_slaves: '2' }, {}, 'warn', 'min-replicas-to-write unknown'],
    [
      { connected_slaves: '2', min_slaves_good_slaves: '2' },
      { 'min-replicas-to-write': '1' },
      ...(['ok', '2, min-replicas-to-write 1'] as const),
    ],
    [
      { connected_slaves: '2', min_slaves_good_slaves: '0' },
      { 'min-replicas-to-write': '1' },
      ...(['fail', '0 of the 1'] as const),
    ],
  ])('replicas %j with %j', (lines, config, status, found) => {
    expect(judge(lines, config).get('replicas')).toMatchObject({
      ...{ status, found: expect.stringContaining(found) },
    });
  });

  it('a provider may hide the policy', () => {
    expect(judge({ maxmemory_policy: undefined }).get('eviction')).toMatchObject({
      ...{ status: 'warn', found: expect.stringContaining('could not check') },
    });
  });
});

describe('the clocks of servers', () => {
  const offset = (aheadMs: number, doubtMs = 1) => ({
    node: `n${String(aheadMs)}`,
    aheadMs,
    doubtMs,
  });

  it('are compared with ours and with each other', () => {
    expect(judgeClocks([offset(2), offset(5)])).toMatchObject([
      { check: 'clock', status: 'ok', found: expect.stringContaining('5.0 ms ahead') },
      { check: 'clocks', status: 'ok', found: expect.stringContaining('3.0 ms apart') },
    ]);
    expect(judgeClocks([offset(-900), offset(900)])).toMatchObject([
      { check: 'clock', status: 'ok' },
      { check: 'clocks', status: 'warn', found: expect.stringContaining('1.8 s apart') },
    ]);
  });

  it('say nothing that a slow network could have done', () => {
    expect(judgeClocks([offset(1_400, 500)])).toMatchObject([{ status: 'ok' }]);
    expect(judgeClocks([offset(1_600, 500)])).toMatchObject([{ status: 'warn' }]);
  });

  it('cannot be asked without the right', () => {
    expect(judgeClocks([undefined])).toMatchObject([
      { status: 'warn', found: 'could not check: TIME is refused' },
    ]);
  });
});
