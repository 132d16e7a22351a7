import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { useLockKinds, type LockKind } from '../support/lock-kinds.js';
import { eventually, useRedis } from '../support/set-up.js';

const redis = useRedis();
let ear: Redis;
let heard: string[];
beforeEach(async () => {
  heard = [];
  ear = new Redis(redis.url);
  ear.on('pmessage', (_, from: string) => heard.push(from));
  await ear.psubscribe('redisson*');
});
// Before the clients are closed: an ear may not stay when the spec fails.
afterEach(() => ear.disconnect());
const open = useLockKinds(redis);

/** Redisson's keys beside the lock, and the beginning of its channels. */
const NAMES: [
  kind: LockKind,
  keys: (tagged: string, owner: string) => string[],
  channel: string,
][] = [
  ['lock', (tagged) => [`redisson_lock_token:${tagged}`], 'redisson_lock__channel:'],
  [
    'fair lock',
    (tagged) => ['token', 'queue', 'timeout'].map((part) => `redisson_lock_${part}:${tagged}`),
    'redisson_lock__channel:',
  ],
  ['read lock', (tagged, owner) => [`${tagged}:${owner}:rwlock_timeout:1`], 'redisson_rwlock:'],
  ['write lock', (tagged) => [`redisson_lock_token:${tagged}`], 'redisson_rwlock:'],
];

describe.each(NAMES)('a %s', (kind, keysOf, channel) => {
  it.each([
    ['', 'stock:{shop}', 'stock:{shop}', 'stock:{shop}'],
    ['', '{shop}:stock', '{shop}:stock', '{shop}:stock'],
    ['', 'a:b', 'a:b', '{a:b}'],
    ['', '商品 1', '商品 1', '{商品 1}'],
    ['shop:', 'a', 'shop:a', '{shop:a}'],
  ])('has its keys and its channel where Redisson has them: %j %s', async (...row) => {
    const [keyPrefix, name, key, tagged] = row;
    const [holder, waiter] = [open({ keyPrefix }), open({ keyPrefix })];
    const lease = await holder.locks[kind](name).acquire(
      kind === 'read lock' ? {} : { fenced: true },
    );
    expect(lease.name).toBe(name);
    const rival = waiter.locks[kind === 'read lock' ? 'write lock' : kind](name);
    await expect(rival.acquire({ waitTimeMs: 0 })).rejects.toMatchObject({ lockName: name });
    const waiting = rival.acquire();
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    const [own, theirs] = [[] as string[], [] as string[]];
    for (const one of await redis.keys()) (one.startsWith('nestjs_') ? own : theirs).push(one);
    expect(theirs.sort()).toEqual([key, ...keysOf(tagged, lease.owner)].sort());
    expect(own.filter((one) => !one.endsWith(`:${tagged}`))).toEqual([]);
    await lease.release();
    await (await waiting).release();
    await eventually(() => heard.length > 0);
    expect(heard.filter((from) => !from.startsWith(`${channel}${tagged}`))).toEqual([]);
  });
});
