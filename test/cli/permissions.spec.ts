import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { COMMANDS } from '../../libs/redis-lock/src/cli/permissions.js';
import { CHANNEL_PATTERNS, keyPatterns, aclRules } from '../support/acl-rules.js';
import { describeUnless, isBeforeRedis7 } from '../support/server-facts.js';
import { eventually, RedisFixture, useRealRedis } from '../support/set-up.js';
import { startRedisServer } from '../../scripts/redis-server.mjs';
import { doctor } from './command.js';

const redis = useRealRedis();
const PREFIX = 'shop:';
const PASSWORD = 'long-and-secret';

const { cluster: _, names: _names, database, ...SINGLE } = COMMANDS;
const RULES = [
  ...['reset', 'on', `>${PASSWORD}`, 'resetchannels', '-@all'],
  ...keyPatterns(PREFIX).map((pattern) => `~${pattern}`),
  ...CHANNEL_PATTERNS.map((pattern) => `&${pattern}`),
  ...Object.values(SINGLE)
    .flat()
    .map((command) => `+${command}`),
];

/** The user has these rights and no other. */
const allow = (rules: readonly string[]) => redis.admin.acl('SETUSER', 'shop', ...rules);

const asShop = (url = redis.url) =>
  doctor(['--url', url, '--key-prefix', PREFIX], {
    env: { REDIS_USERNAME: 'shop', REDIS_PASSWORD: PASSWORD },
  });

beforeEach(() => allow(RULES));
afterEach(async () => {
  // The doctor could not release these keys; each of them ends by its TTL.
  for (const key of await redis.admin.keys('*')) {
    expect(key).toMatch(/^shop:doctor:/);
    const ttl = await redis.admin.pttl(key);
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(10_000);
  }
  await eventually(async () => (await redis.clients()).length === 0);
});

/** The commands that stand in the Lua of the library. */
function commandsInScripts(): string[] {
  const root = new URL('../../libs/redis-lock/src/', import.meta.url);
  const found = new Set<string>();
  for (const room of ['core/', 'primitives/']) {
    for (const file of readdirSync(new URL(room, root), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.spec.ts')) continue;
      const text = readFileSync(new URL(room + file, root), 'utf8');
      for (const [, called, once] of text.matchAll(
        /redis\.p?call\(\s*'(\w+)'|\bonce\([^()]*?, '(\w+)',/g,
      )) {
        found.add(called ?? once ?? '');
      }
    }
  }
  return [...found].sort();
}

describe('the rights of the locks', () => {
  it('name every command of a script, and no other', () => {
    const bySender = ['eval', 'evalsha', 'subscribe', 'unsubscribe', 'ping', 'wait', 'spublish'];
    const listed: string[] = [...Object.values(SINGLE).flat(), 'spublish'];
    // A script names the part of a command by a local.
    const inScripts = listed
      .filter((command) => !bySender.includes(command))
      .map((command) => command.split('|')[0]);
    const commands = commandsInScripts().filter((command) => command !== 'spublish');
    expect(commands).toEqual(inScripts.sort());
  });

  it('are enough for everything that is tried, and for a clean log of the server', async () => {
    // Beyond them the doctor asks for a few settings.
    await allow(['+config|get']);
    await redis.admin.acl('LOG', 'RESET');
    const { code, of } = await asShop();
    expect(code).toBe(0);
    expect(of('permissions')).toEqual([
      {
        ...{ check: 'permissions', status: 'ok' },
        found: 'the user shop has every permission that the locks need',
      },
    ]);
    expect(of('message')).toMatchObject([{ status: 'ok' }]);
    expect(await redis.admin.acl('LOG')).toEqual([]);
  });

  it('are missed of no service that the rules of docs/security.md leave out', async () => {
    await redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', `>${PASSWORD}`);
    await allow(aclRules(['LockService'], PREFIX));
    const { code, of } = await asShop();
    expect(code).toBe(0);
    expect(of('lock')).toMatchObject([{ status: 'ok' }]);
    const [, leftOut, ...rest] = of('permissions');
    expect(rest).toEqual([]);
    const others = 'FairLockService, ReadWriteLockService, SemaphoreService, LatchService';
    expect(leftOut).toMatchObject({
      ...{ status: 'warn', found: expect.stringContaining(`no keys of ${others}, FencingGuard`) },
      fix: expect.stringContaining(' ~redisson_lock_queue:{shop:* '),
    });
    // The fix names exactly the rights that the other services need.
    await allow((leftOut?.fix ?? '').split(' ').filter((word) => /^[+~&]/.test(word)));
    const { of: then } = await asShop();
    expect(then('permissions')).toMatchObject([{ fix: 'ACL SETUSER shop +wait' }]);
  });

  it('need none to read settings: what cannot be read is said so', async () => {
    const { code, of } = await asShop();
    expect(code).toBe(0);
    expect(of('persistence')).toMatchObject([
      { status: 'warn', found: expect.stringContaining('at most snapshots') },
    ]);
  });

  it('without INFO much could not be checked, and nothing breaks', async () => {
    await allow(['-info']);
    const { code, of } = await asShop();
    expect(code).toBe(0);
    for (const check of ['server', 'role', 'eviction', 'persistence', 'replicas']) {
      expect(of(check)).toMatchObject([
        { status: 'warn', found: 'could not check: INFO is refused' },
      ]);
    }
    expect(of('permissions')).toMatchObject([{ status: 'warn', fix: 'ACL SETUSER shop +info' }]);
  });

  it.each(COMMANDS.locks)('%s is missed, and locks fail without it', async (command) => {
    await allow([`-${command}`]);
    const { code, of } = await asShop();
    const [missing, ...rest] = of('permissions');
    expect(rest).toEqual([]);
    expect(missing).toEqual({
      ...{ check: 'permissions', status: 'fail' },
      found: `the user shop may not run ${command}: locks fail`,
      fix: `ACL SETUSER shop +${command}`,
    });
    expect(code).toBe(1);
  });

  it.each([
    ...COMMANDS.messages.map((command) => [command, 'find out by polling'] as const),
    // ACL rules before Redis 7 cannot deny a subcommand.
    ...(isBeforeRedis7 ? [] : COMMANDS.java).map((command) => [command, 'once a second'] as const),
    ['wait', 'minReplicas cannot be used'] as const,
  ])('%s is missed, and locks stay right without it', async (command, lost) => {
    await allow([`-${command}`]);
    const { code, of } = await asShop();
    expect(code).toBe(0);
    expect(of('permissions')).toMatchObject([
      {
        ...{ status: 'warn', fix: `ACL SETUSER shop +${command}` },
        found: expect.stringContaining(lost),
      },
    ]);
    const isDeaf = command === 'publish' || command === 'subscribe';
    expect(of('message')[0]?.status).toBe(isDeaf ? 'warn' : 'ok');
  });

  it('select is missed where the url has a database', async () => {
    const url = `${redis.url}/3`;
    expect((await asShop(url)).of('connection')).toMatchObject([{ status: 'fail' }]);
    await allow(database.map((command) => `+${command}`));
    expect((await asShop(url)).of('permissions')).toMatchObject([{ status: 'ok' }]);
  });

  it.each(keyPatterns(PREFIX))('keys like %s are missed', async (pattern) => {
    const others = keyPatterns(PREFIX).filter((other) => other !== pattern);
    await allow(['resetkeys', ...others.map((other) => `~${other}`)]);
    const { code, of } = await asShop();
    expect(code).toBe(1);
    const [missing] = of('permissions');
    const begin = pattern.replace('*', '');
    expect(missing?.fix?.split(' ').slice(3)).not.toEqual([]);
    for (const rule of missing?.fix?.split(' ').slice(3) ?? []) {
      expect(rule.startsWith(`~${begin}`)).toBe(true);
    }
    expect(missing?.status).toBe('fail');
  });

  describeUnless(
    isBeforeRedis7,
    'ACL rules before Redis 7 do not distinguish reading from writing',
  )('by what they allow', () => {
    it('keys that may be read and not written are missed', async () => {
      await allow(['resetkeys', ...keyPatterns(PREFIX).map((pattern) => `%R~${pattern}`)]);
      const { of } = await asShop();
      expect(of('permissions')).toMatchObject([
        { status: 'fail', found: expect.stringContaining('may not use keys like shop:*') },
      ]);
    });
  });

  it.each(CHANNEL_PATTERNS)('channels like %s are missed', async (pattern) => {
    const others = CHANNEL_PATTERNS.filter((other) => other !== pattern);
    await allow(['resetchannels', ...others.map((other) => `&${other}`)]);
    const { code, of } = await asShop();
    expect(code).toBe(0);
    expect(of('permissions')).toMatchObject([
      { status: 'warn', fix: expect.stringContaining(`&${pattern.replace('*', '')}`) },
    ]);
  });

  it('a server that does not know a command says so', async () => {
    const other = new RedisFixture((at) =>
      startRedisServer({ args: ['--rename-command', 'LPOS', ''], ...at }),
    );
    await other.start();
    try {
      const { code, of } = await doctor(['--url', other.url]);
      expect(code).toBe(1);
      expect(of('permissions')).toMatchObject([
        { status: 'fail', found: 'the server does not know lpos: locks fail' },
      ]);
    } finally {
      await other.close();
    }
  });
});
