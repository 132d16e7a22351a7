import { afterEach, describe, expect, it } from '@jest/globals';
import { LockService, ReadWriteLockService, SemaphoreService } from 'nestjs-redis-lock/core';
import { PERMISSIONS, type PermissionsOf } from '../../libs/redis-lock/src/cli/permissions.js';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { aclRules } from '../support/acl-rules.js';
import { eventually, untilQueued, useLocks, useProxy, useRealRedis } from '../support/set-up.js';
import { run, type RunOptions } from './command.js';
import { Person } from './terminal.js';

const redis = useRealRedis();
const proxy = useProxy(redis);
const open = useLocks(redis, (context) => ({
  plain: new LockService(context),
  readWrite: new ReadWriteLockService(context),
  semaphores: new SemaphoreService(context),
}));
const LEASE = { leaseTimeMs: 20_000 };
const [ENTER, CLEAR, LEAVE] = [
  '\u001b[?1049h\u001b[?25l',
  '\u001b[H\u001b[J',
  '\u001b[?25h\u001b[?1049l',
];

const top = (args: readonly string[], options: RunOptions = {}) =>
  run(['top', '--url', redis.url, ...args], options);
/** The cells of each row of a frame, behind its title and its heads. */
const rowsOf = (frame: string) =>
  frame
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((row) => row.split(/ {2,}/));

afterEach(async () => {
  await redis.admin.flushall();
});

describe('top', () => {
  it('prints one frame of what is held without a terminal, those with waiters first', async () => {
    const [{ locks }, other] = [open({ keyPrefix: 'app:' }), open({ keyPrefix: 'app:' })];
    const busy = await locks.plain.acquire('busy', LEASE);
    const waiting = other.locks.plain.acquire('busy');
    await untilQueued(redis, 'app:busy', [other]);
    const reading = await locks.readWrite.get('{doc}:1').read.acquire(LEASE);
    const more = await other.locks.readWrite.get('{doc}:1').read.acquire(LEASE);
    for (const name of ['pool', '{shop}:pool']) {
      await locks.semaphores.get(name).setPermits(3);
      await locks.semaphores.get(name).acquire({ permits: 2, ...LEASE });
    }
    await redis.admin.hset('app:profile', 'name', 'Li', 'city', 'Xi’an');
    await redis.admin.zadd('{app:scores}:timeout', 1, 'x');
    await redis.admin.zadd('{my-app:pool}:timeout', Date.now() + 20_000, 'x'.repeat(16));
    await redis.admin.hset('elsewhere', 'java:1', 1);
    const { code, out, err } = await top(['--key-prefix', 'app:']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^127\.0\.0\.1:\d+: 4 held, 1 waiting\nNAME +HOLDER +KIND +HOLDS +ENDS IN +WAITING +OWNER\n/,
    );
    const end = expect.stringMatching(/^(19|20) s$/);
    expect(rowsOf(out)).toEqual([
      ['busy', 'unknown', 'lock', '1', end, '1', busy.owner],
      ['pool', '2 of 3 permits', 'semaphore', '-', end, '0', '-'],
      ['{doc}:1', 'unknown and 1 more', 'read', '1', end, '0', expect.stringMatching(/:\d+$/)],
      ['{shop}:pool', '2 of 3 permits', 'semaphore', '-', end, '0', '-'],
    ]);
    for (const lease of [busy, reading, more]) await lease.release();
    await (await waiting).release();
    await redis.admin.del('{my-app:pool}:timeout');
  });

  it('finds what is held among very many keys that are no locks', async () => {
    const pipeline = redis.admin.pipeline();
    for (let i = 0; i < 5_000; i++) pipeline.hset(`profile:${String(i)}`, 'name', 'Li');
    await pipeline.exec();
    const lease = await open().locks.plain.acquire('needle', LEASE);
    // A frame searches for a second, and a slow machine may need longer.
    const clock = { ...systemClock, now: () => 0 };
    expect(rowsOf((await top([], { clock })).out).map(([name]) => name)).toEqual(['needle']);
    await lease.release();
  });

  it('shows the names that it is given, free ones too, and looks for no other', async () => {
    const lease = await open().locks.plain.acquire('a', LEASE);
    await redis.admin.hset('other', 'java:1', 1);
    const sent = await redis.commandsDuring(async () => {
      const { out } = await top(['a', 'b']);
      expect(rowsOf(out).map(([name, , kind]) => [name, kind])).toEqual([
        ['a', 'lock'],
        ['b', 'free'],
      ]);
    });
    expect(Object.keys(sent)).not.toContain('scan');
    await lease.release();
  });

  it('says of a name whose key is no lock that it is none', async () => {
    await redis.admin.set('text', 'x');
    const { code, out } = await top(['text', 'b']);
    expect(code).toBe(1);
    expect(rowsOf(out)[0]?.slice(0, 3)).toEqual(['b', '-', 'free']);
    expect(out).toMatch(new RegExp(`^text on 127.0.0.1:${redis.port}: it holds something`, 'm'));
    const asJson = await top(['text', '--json']);
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.out)).toMatchObject({ locks: [], problems: [{ name: 'text' }] });
    await redis.admin.del('text');
  });

  it('--json prints one frame for a program', async () => {
    const { owner, release } = await open().locks.plain.acquire('a', LEASE);
    const { code, out } = await top(['--json'], { terminal: new Person() });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      version: 1,
      locks: [
        { node: `127.0.0.1:${redis.port}`, name: 'a', kinds: ['lock'], holders: [{ owner }] },
      ],
    });
    expect(typeof release).toBe('function');
  });

  it.each(['q', '\u0003'])(
    'shows every change until %j, and leaves the screen as it was',
    async (key) => {
      const { plain } = open().locks;
      const person = new Person();
      let shown = '';
      const running = top(['--interval', '0.2'], {
        ...{ terminal: person, onOut: (text) => (shown += text) },
      });
      const last = () => shown.split(CLEAR).at(-1) ?? '';
      await eventually(() => last().includes(': 0 held'));
      expect(shown.startsWith(ENTER)).toBe(true);
      const lease = await plain.acquire('a', LEASE);
      await eventually(() => last().includes(lease.owner));
      await lease.release();
      await eventually(() => last().includes(': 0 held'));
      expect(last()).toContain('; q ends');
      person.press('x');
      expect(person.isListenedTo).toBe(true);
      person.press(key);
      const { code, out } = await running;
      expect(code).toBe(0);
      expect(out.endsWith(LEAVE)).toBe(true);
      expect(person.isListenedTo).toBe(false);
    },
  );

  it('keeps to the size of the screen', async () => {
    const { plain } = open().locks;
    const names = Array.from({ length: 30 }, (_, i) => `name-${String(i).padStart(2, '0')}`);
    const leases = await Promise.all(names.map((name) => plain.acquire(name, LEASE)));
    const person = Object.assign(new Person(), { rows: 10, columns: 40 });
    let shown = '';
    const running = top([], { terminal: person, onOut: (text) => (shown += text) });
    await eventually(() => shown.includes('and 24 more'));
    person.press('q');
    await running;
    const frame = (shown.split(CLEAR)[1] ?? '').replace(LEAVE, '').trimEnd().split('\n');
    expect(frame.length).toBeLessThan(10);
    expect(Math.max(...frame.map((line) => line.length))).toBeLessThanOrEqual(40);
    for (const lease of leases) await lease.release();
  });

  it('shows the process of a holder on a screen of 80 columns', async () => {
    const { locks, context } = open();
    const lease = await locks.plain.acquire('orders:invoice:{shop-42}:2026-11', LEASE);
    const record = `nestjs_client:{${context.client}}`;
    await redis.admin.set(record, '4242 orders-api-7d9f8b6c5d-x2x4z');
    const person = Object.assign(new Person(), { columns: 80 });
    let shown = '';
    const running = top([], { terminal: person, onOut: (text) => (shown += text) });
    await eventually(() => shown.includes(CLEAR));
    person.press('q');
    await running;
    expect(shown).toContain('  orders-api-7d9f8b6c5d-x2x4z, pid 4242  ');
    await lease.release();
    await redis.admin.del(record);
  });

  it('keeps to the size of the screen with wide characters and names of no locks', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `秒杀商品库存扣减_${String(i)}`);
    for (const name of names.slice(6)) await redis.admin.set(name, 'x');
    const person = Object.assign(new Person(), { rows: 10, columns: 30 });
    let shown = '';
    const running = top(names, { terminal: person, onOut: (text) => (shown += text) });
    await eventually(() => shown.includes(CLEAR));
    person.press('q');
    await running;
    const frame = (shown.split(CLEAR)[1] ?? '').replace(LEAVE, '').trimEnd().split('\n');
    expect(frame.length).toBeLessThan(10);
    const columns = frame.map(
      (line) => line.length + (line.match(/\p{Script=Han}/gu)?.length ?? 0),
    );
    expect(Math.max(...columns)).toBeLessThanOrEqual(30);
    expect(frame[2]).toMatch(/^秒杀商品库存扣减_0 {2}- +fr$/);
    await redis.admin.del(...names);
  });

  it('69: leaves the screen as it was when Redis does not answer any more', async () => {
    const person = new Person();
    let shown = '';
    const running = run(['top', '--url', proxy.current.url, '--interval', '0.2'], {
      ...{ terminal: person, onOut: (text) => (shown += text) },
    });
    await eventually(() => shown.includes(CLEAR));
    proxy.current.refuse();
    proxy.current.cut();
    const { code, out, err } = await running;
    expect(code).toBe(69);
    expect(out.endsWith(LEAVE)).toBe(true);
    expect(err).not.toBe('');
    expect(person.isListenedTo).toBe(false);
  });

  it('needs the right to scan beyond those of the locks', async () => {
    const rules = aclRules(Object.keys(PERMISSIONS) as PermissionsOf[], 'app:');
    await redis.admin.acl('SETUSER', 'shop', 'reset', 'resetchannels', 'on', '>pw', ...rules);
    const options = { env: { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'pw' } };
    const refused = await top(['--key-prefix', 'app:'], options);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('scan');
    await redis.admin.acl('SETUSER', 'shop', '+scan');
    expect(await top(['--key-prefix', 'app:'], options)).toMatchObject({ code: 0, err: '' });
    await redis.admin.acl('DELUSER', 'shop');
  });
});
