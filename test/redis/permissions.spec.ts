import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LockBackendError, LockError, LockMonitor, LockService } from 'nestjs-redis-lock/core';
import { openLocks } from 'nestjs-redis-lock/core';
import type { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import {
  CLUSTER,
  CONNECTION,
  PERMISSIONS,
  type PermissionsOf,
} from '../../libs/redis-lock/src/cli/permissions.js';
import { aclRules } from '../support/acl-rules.js';
import { pageOf } from '../support/proofs.js';
import { isBeforeRedis7 } from '../support/server-facts.js';
import { eventually, useLocks, useRealRedis } from '../support/set-up.js';
import { COURSES, Stage } from './courses.js';

type Service = keyof typeof COURSES;
const SERVICES = Object.keys(COURSES) as Service[];
const PREFIX = 'app:';
/** The specs look at Redis with some of these commands; a user may call the others without a right. */
const OTHERS = [
  'auth',
  'client|setname',
  'client|setinfo',
  'hello',
  'expire',
  'ltrim',
  'pubsub|channels',
  'sort',
  'type',
  'zunionstore',
];
/** The records of processes. */
const RECORDS = `~nestjs_client:{${PREFIX}*`;
/** Nothing is decided by these: what comes of it without one has a table of its own. */
const OF_CONNECTIONS = new Set(CONNECTION.map((command) => `+${command}`));

const PAGE = pageOf('docs/security.md') + pageOf('docs/internals/security.md');
/** The rules as both pages have them, by what they are for. */
const RULES = new Map(
  [...PAGE.matchAll(/<!-- acl: (.+?) -->\s+```text\n(.*?)```/gs)].map(([, of = '', text = '']) => {
    const [, rules = ''] =
      /^ACL SETUSER locks reset resetchannels on >\*{3}\s+(.*)$/s.exec(text) ?? [];
    return [of, rules.trim().split(/\s+/)] as const;
  }),
);

describe('the rights of a user, as the docs have them', () => {
  const redis = useRealRedis();
  const users = new Set<string>();
  const password = 's3cret';
  beforeAll(async () => {
    await redis.admin.config('SET', 'acllog-max-len', 10_000);
  });
  beforeEach(async () => {
    // ioredis prints that it may not ask whether Redis is ready.
    jest.spyOn(console, 'warn').mockReturnValue();
    await redis.admin.script('FLUSH');
    await redis.admin.acl('LOG', 'RESET');
  });
  const open = useLocks(redis, (context: LockContext) => context);
  // Declared behind the locks: whose user is gone loses its connections.
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const user of users) await redis.admin.acl('DELUSER', user);
    users.clear();
  });

  const allow = async (user: string, rules: readonly string[]) => {
    users.add(user);
    await redis.admin.acl(
      'SETUSER',
      user,
      'reset',
      'resetchannels',
      'on',
      `>${password}`,
      ...rules,
    );
  };
  const openAs = (user: string, settings: object = {}) =>
    open({
      connection: redis.url.replace('//', `//${user}:${password}@`),
      ...{ keyPrefix: PREFIX, watchdogLeaseMs: 20_000, ...settings },
    });
  /** The user of each refusal in Redis' log, and the command, key or channel that Redis refused. */
  const refusals = async () => {
    const log = (await redis.admin.acl('LOG', 10_000)) as string[][];
    const of = (entry: string[], field: string) => String(entry[entry.indexOf(field) + 1]);
    return log.map((entry) => [of(entry, 'username'), of(entry, 'object')] as const);
  };
  const isSilent = async () => ((await redis.admin.pubsub('CHANNELS')) as string[]).length === 0;

  it('are those that the library knows', () => {
    const known = Object.keys(PERMISSIONS) as PermissionsOf[];
    const all = known.filter((of) => of !== 'LockMonitor');
    expect(new Set(RULES.keys())).toEqual(new Set([...all, 'all of them']));
    for (const of of all) expect(RULES.get(of)).toEqual(aclRules([of], PREFIX));
    expect(RULES.get('all of them')).toEqual(aclRules(all, PREFIX));
    const inCluster = CLUSTER.map((command) => `+${command}`).join(' ');
    expect(PAGE.replace(/\s+/g, ' ')).toContain(`**In a Cluster** add \`${inCluster}\``);
  });

  it.each(SERVICES)('are enough for %s, and nothing is left over', async (service) => {
    await allow('locks', RULES.get(service) ?? []);
    const [ours, theirs] = [openAs('locks'), openAs('locks')];
    const used = await redis.commandsDuring(async () => {
      const stage = new Stage(ours.locks, theirs.locks, 'a', redis.admin);
      await COURSES[service](stage);
      await stage.release();
      await eventually(isSilent);
    });
    const isOfScripts = (command: string) => ![...OTHERS, ...CONNECTION].includes(command);
    const commands: readonly string[] = PERMISSIONS[service].commands;
    // INFO is asked for by clients anyway, and not counted. Redis before 7 counts PUBSUB NUMSUB as one
    // with the PUBSUB CHANNELS of this spec.
    const isCounted = (command: string) =>
      command !== 'info' && !(isBeforeRedis7 && command.startsWith('pubsub'));
    const counted = Object.keys(used).filter(isOfScripts).filter(isCounted);
    expect(counted.sort()).toEqual(commands.filter(isCounted).sort());
    expect(await refusals()).toEqual([]);
  });

  it('are enough for all of them at once', async () => {
    await allow('locks', RULES.get('all of them') ?? []);
    const [ours, theirs] = [openAs('locks'), openAs('locks')];
    const courses = SERVICES.map(async (service) => {
      const stage = new Stage(ours.locks, theirs.locks, service, redis.admin);
      await COURSES[service](stage);
      await stage.release();
    });
    await Promise.all(courses);
    await eventually(isSilent);
    expect(await refusals()).toEqual([]);
  });

  it.each(SERVICES)('are all needed for %s: without one, nothing is half done', async (service) => {
    const rules = RULES.get(service) ?? [];
    // The record of the process has a spec of its own.
    const special = rules.filter((rule) => !OF_CONNECTIONS.has(rule) && rule !== RECORDS);
    const trials = special.map(async (missing, i) => {
      const user = `without-${String(i)}`;
      const others = rules.filter((rule) => rule !== missing);
      await allow(user, others);
      const waits = { pollIntervalMs: 200, waitTimeMs: 1_000 };
      const [ours, theirs] = [openAs(user, waits), openAs(user, waits)];
      // A machine with much else to do must not need the waiting time for this.
      await eventually(() => ours.connection.isUp && theirs.connection.isUp);
      const stage = new Stage(ours.locks, theirs.locks, user, redis.admin, 1_500);
      const running = COURSES[service](stage);
      const error: unknown = await running.then(
        () => undefined,
        (e: unknown) => e,
      );
      await stage.release();
      await allow(user, rules);
      return { user, missing, error };
    });
    const outcomes = await Promise.all(trials);
    const refused = await refusals();
    for (const { user, missing, error } of outcomes) {
      if (error !== undefined)
        expect([missing, error instanceof LockError]).toEqual([missing, true]);
      if (error instanceof LockBackendError) expect(error.retryable).toBe(false);
      // Commands were counted above.
      if (missing.startsWith('+')) continue;
      const what = missing.slice(1).replace('*', '');
      const isMissed = refused.some(([who, object]) => who === user && object.startsWith(what));
      expect([missing, isMissed]).toEqual([missing, true]);
    }
    // With all rights again, each client has released its locks; no half-done step excludes another owner.
    await eventually(async () => {
      const keys = await redis.admin.keys(`${PREFIX}without-*`);
      const types = keys.map(async (key) => [key, await redis.admin.type(key)]);
      expect((await Promise.all(types)).filter(([, type]) => type === 'hash')).toEqual([]);
    });
  });

  it.each([
    ['eval', undefined],
    ['evalsha', undefined],
    ['info', []],
    ['ping', []],
    ['publish', ['wake-up-failed']],
    ['subscribe', ['messages-failed']],
    ['unsubscribe', []],
  ])('of a connection: without %s it tells %j, and the lock is handed over', async (...row) => {
    const [command, expected] = row;
    const rules = RULES.get('LockService') ?? [];
    await allow(
      'locks',
      rules.filter((rule) => rule !== `+${command}`),
    );
    const waits = { pollIntervalMs: 50 };
    const clients = [openAs('locks', waits), openAs('locks', waits)];
    const [ours, theirs] = clients.map(({ context }) => new LockService(context));
    const taking = ours?.acquire('a');
    if (expected === undefined) {
      await expect(taking).rejects.toMatchObject({ retryable: false, outcome: 'none' });
    } else {
      const held = await taking;
      const waiting = theirs?.acquire('a');
      // A heartbeat comes twice a second; a waiter that has left is soon unsubscribed.
      const isRefused = async () => (await refusals()).some(([, object]) => object === command);
      if (command === 'ping' || command === 'subscribe') await eventually(isRefused);
      else
        await eventually(
          async () => (await redis.admin.type(`nestjs_lock_queue:{app:a}`)) === 'zset',
        );
      await held?.release();
      await (await waiting)?.release();
      if (command !== 'info') await eventually(isRefused);
      const told = clients.flatMap(({ events }) => events.map(({ type }) => type));
      expect([...new Set(told.filter((type) => type.endsWith('failed')))]).toEqual(expected);
    }
    const objects = new Set((await refusals()).map(([, object]) => object));
    expect([...objects]).toEqual([command]);
  });

  it('of minReplicas are enough, and its wait is needed', async () => {
    const rules = [...(RULES.get('LockService') ?? []), ...(RULES.get('minReplicas') ?? [])];
    for (const isAllowed of [true, false]) {
      await allow('locks', isAllowed ? rules : rules.filter((rule) => rule !== '+wait'));
      const { locks } = openAs('locks');
      const taking = new LockService(locks).acquire('a', { minReplicas: 1 });
      const expected = isAllowed
        ? { code: 'LOCK_REPLICATION', minReplicas: 1, replicas: 0 }
        : { code: 'LOCK_BACKEND', retryable: false };
      await expect(taking).rejects.toMatchObject(expected);
      await eventually(async () => (await redis.admin.exists('app:a')) === 0);
      const objects = (await refusals()).map(([, object]) => object);
      expect(objects.every((object) => !isAllowed && object === 'wait')).toBe(true);
      expect(objects.length > 0).toBe(!isAllowed);
    }
  });

  it('are enough for the record of the process, and locks work without its key', async () => {
    for (const isAllowed of [true, false]) {
      await redis.admin.acl('LOG', 'RESET');
      const rules = RULES.get('LockService') ?? [];
      expect(rules).toContain(RECORDS);
      await allow('locks', isAllowed ? rules : rules.filter((rule) => rule !== RECORDS));
      const connection = redis.url.replace('//', `//locks:${password}@`);
      await using family = openLocks({ connection, keyPrefix: PREFIX });
      await using lease = await family.lock.acquire('a');
      const key = `nestjs_client:{${PREFIX}${String(family.monitor.status().clients[0])}}`;
      await eventually(async () => {
        const objects = new Set((await refusals()).map(([, object]) => object));
        expect([...objects]).toEqual(isAllowed ? [] : [key]);
        expect(await redis.admin.exists(key)).toBe(isAllowed ? 1 : 0);
      });
      const { owner } = lease;
      const by = new LockMonitor(open({ keyPrefix: PREFIX }).context);
      const holder = { owner, ...(isAllowed && { process: { pid: process.pid } }) };
      expect((await by.inspect('a')).holders).toMatchObject([holder]);
      expect(JSON.stringify(await by.inspect('a')).includes('"process"')).toBe(isAllowed);
      await lease.release();
      await family.close();
    }
  });

  it('end at the prefix, of which no other shares a key or a channel', async () => {
    await allow('locks', RULES.get('all of them') ?? []);
    const held = await new LockService(openAs('locks').context).acquire('a', { fenced: true });
    // Also for those who begin alike.
    for (const keyPrefix of ['apple:', 'ap', '', 'app']) {
      const { context } = openAs('locks', { keyPrefix });
      const refused = new LockService(context).acquire('a');
      await expect(refused).rejects.toMatchObject({ code: 'LOCK_BACKEND', retryable: false });
      const { context: allowed } = open({ keyPrefix });
      await (await new LockService(allowed).acquire('a', { fenced: true })).release();
    }
    held.assertHeld();
    await held.release();
  });
});
