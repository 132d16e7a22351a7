import { describe, expect, it } from '@jest/globals';
import * as hashLock from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import {
  forMany,
  textIn,
  type PublishMode,
  type Script,
} from '../../libs/redis-lock/src/core/redis/script.js';
import * as lock from '../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import * as latch from '../../libs/redis-lock/src/primitives/count-down-latch/latch.scripts.js';
import * as fairLock from '../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import * as fencingGuard from '../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.scripts.js';
import * as readLock from '../../libs/redis-lock/src/primitives/read-write-lock/read-lock.scripts.js';
import * as writeReleases from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import * as writeLock from '../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import * as redLock from '../../libs/redis-lock/src/primitives/red-lock/red-lock.scripts.js';
import * as capacity from '../../libs/redis-lock/src/primitives/semaphore/capacity.scripts.js';
import * as counting from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.scripts.js';
import * as permits from '../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import { useRealRedis } from '../support/redis-server.js';

type AnyScript = Script<string, string, unknown>;

const MODULES: readonly Record<string, unknown>[] = [
  ...[hashLock, lock, latch, fairLock, fencingGuard, readLock, writeLock, writeReleases, redLock],
  ...[capacity, counting, permits],
];
const SCRIPTS = MODULES.flatMap((module) => Object.values(module))
  .filter(isScript)
  .flatMap((script) => ('fenced' in script ? [script, script.fenced as AnyScript] : [script]));
const ALONE = [
  ...['fencing-guard.write', 'hash-lock.renew', 'read-lock.renew'],
  ...['red-lock.identify', 'semaphore.renew'],
];
const MODES: readonly PublishMode[] = ['plain', 'sharded', 'both'];

/** Scripts can take the keys of `a`; `b` has other values, and the first caller holds `c`. */
const NAMES = ['a', 'b', 'c', 'b', 'a', 'c'];
const CALLERS = ['1', '2'];

describe('every script', () => {
  const redis = useRealRedis();

  it('is looked at', () => {
    expect(SCRIPTS.length).toBeGreaterThan(30);
  });

  const cases = SCRIPTS.map((script) => [script.name, script] as const);

  it.each(cases)('%s is valid Lua for several calls, however it announces', async (_, script) => {
    for (const mode of MODES) {
      const { lua, sha1 } = forMany({ ...script, ...textIn(script, mode) });
      expect(await redis.admin.script('LOAD', lua)).toBe(sha1);
    }
  });

  it('travels with others of its kind, unless it takes lists', () => {
    const alone = cases.filter(([, { readsByName }]) => !readsByName).map(([name]) => name);
    expect(alone.sort()).toEqual(ALONE);
  });

  const together = cases.filter(([, script]) => script.readsByName);

  it.each(together)('%s does and answers the same alone and with others', async (_, script) => {
    const calls = CALLERS.flatMap((caller) =>
      NAMES.map((key) => ({ keys: keysOf(script, key), args: argsOf(script, caller) })),
    );
    const alone: unknown[] = [];
    await prepare();
    for (const { keys, args } of calls)
      alone.push(
        await redis.admin.eval(script.lua, keys.length, ...keys, ...args).catch((e: unknown) => e),
      );
    const stateAlone = await state();
    await redis.admin.flushall();
    await prepare();
    const [keys, args] = [calls.flatMap((call) => call.keys), calls.flatMap((call) => call.args)];
    const answers = await redis.admin.eval(forMany(script).lua, keys.length, ...keys, ...args);
    expect((answers as unknown[]).map(lenient)).toEqual(alone.map(lenient));
    expect(await state()).toEqual(stateAlone);
  });

  const prepare = async () => {
    for (const key of ['counter', 'latch']) await redis.admin.set(`a:${key}`, '3');
    for (const key of ['counter', 'latch', 'lock', 'token'])
      await redis.admin.set(`b:${key}`, 'something else');
    await redis.admin.hset('c:lock', ownerOf('1'), 2);
    await redis.admin.pexpire('c:lock', 20_000);
  };

  /** The times and tokens of two runs differ, so they are left out. */
  const state = async () => {
    const keys = (await redis.admin.keys('*')).sort();
    const seen = keys.map(async (key) => {
      const isMortal = (await redis.admin.pttl(key)) > 0;
      const type = await redis.admin.type(key);
      const fields = type === 'hash' ? (await redis.admin.hkeys(key)).sort() : [];
      const count = type === 'string' ? Number(await redis.admin.get(key)) : undefined;
      return [key, type, isMortal, fields, Number(count) > 1e6 ? 'large' : count];
    });
    return Promise.all(seen);
  };
});

function isScript(value: unknown): value is AnyScript {
  return value instanceof Object && 'lua' in value && 'sha1' in value;
}

function keysOf({ keys }: AnyScript, of: string): string[] {
  return keys.map((key) => `${of}:${key}`);
}

function ownerOf(caller: string): string {
  return `00000000-0000-4000-8000-000000000000:${caller}`;
}

function argsOf({ args }: AnyScript, caller: string): (string | number)[] {
  const known: Record<string, string | number> = {
    holdCount: 1,
    owner: ownerOf(caller),
    companion: '',
    permits: caller.repeat(32),
    command: 'hlen',
    token: 5,
    fence: 5,
  };
  return args.map((arg) => known[arg] ?? (/channel/i.test(arg) ? `channel:${arg}` : 30_000));
}

/** Errors by their text, without what Redis adds to it; times and tokens by their size. */
function lenient(answer: unknown): unknown {
  if (answer instanceof Error) {
    return answer.message
      .replace(/^ERR Error running script .*@user_script: ?\d+: -?/, '')
      .replace(/ script: .*$| \(call to .*$/s, '');
  }
  if (Array.isArray(answer)) return answer.map(lenient);
  const isLarge = Number(answer) > 1_000;
  return isLarge ? 'large' : answer;
}
