import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entries } from '../../scripts/library/surface.mjs';
import { eventually, useRealRedis } from '../support/set-up.js';
import { Consumer, type RunningConsumer } from './consumer.js';

export interface ConsumerFacts {
  /** The versions that must have been installed. */
  readonly versions: Readonly<Record<string, RegExp>>;
  /** Entries of the library for which this application lacks a package. */
  readonly lacks: readonly string[];
}

/** Every application that installs the packed library passes these specs. */
export function describeConsumer(name: string, { versions, lacks }: ConsumerFacts): void {
  describe(name, () => {
    const redis = useRealRedis();
    const imports = entries()
      .filter((entry) => !lacks.includes(entry))
      .map((entry) => `nestjs-redis-lock${entry === 'index' ? '' : `/${entry}`}`);
    let consumer: Consumer;
    let app: RunningConsumer | undefined;

    beforeAll(async () => {
      consumer = new Consumer(name, { REDIS_URL: redis.url });
      await consumer.install();
    });
    afterAll(() => app?.kill());

    it('has the package beside its own, and its lock file as it was', async () => {
      const lock = await consumer.after('package-lock.json');
      expect(lock).toBe(await consumer.before('package-lock.json'));
      const { stdout } = await consumer.npm('ls', '--all', '--json');
      const installed = JSON.parse(stdout) as Tree;
      expect(installed.problems ?? []).toEqual([
        expect.stringContaining('extraneous: nestjs-redis-lock'),
      ]);
      for (const [dependency, version] of Object.entries(versions))
        expect(installed.dependencies[dependency]?.version).toMatch(version);
    });

    it('compiles, and the types of all packages with it', async () => {
      await consumer.npm('run', 'build');
      expect(await consumer.after('tsconfig.json')).toContain('"skipLibCheck": false');
    });

    it('keeps a lock around a request', async () => {
      app = await consumer.start();
      const first = app.post('/orders/42');
      await eventually(() => redis.admin.exists('product_42').then((count) => count === 1));

      const second = await app.post('/orders/42');
      expect(second.status).toBe(423);
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);

      await app.post('/orders/42/payment');
      expect(await (await first).json()).toEqual({ sold: '42', lease: 'held' });
      expect(await redis.admin.exists('product_42')).toBe(0);
    });

    it('has in the log what it asked for', () => {
      expect(app?.output).toMatch(/LOG.*RedisLock.*Lock "product_42" acquired/);
      expect(app?.output).toMatch(/LOG.*RedisLock.*Lock "product_42" released/);
    });

    it('releases everything when it is told to end', async () => {
      const last = app?.post('/orders/43').catch(() => undefined);
      await eventually(() => redis.admin.exists('product_43').then((count) => count === 1));
      await app?.post('/orders/43/payment');
      await last;
      expect(await app?.end()).toEqual([null, 'SIGTERM']);
      await eventually(async () => expect(await redis.clients()).toEqual([]));
    });

    it('has the command', async () => {
      const { stdout } = await consumer.npm('exec', '--', 'nestjs-redis-lock', 'doctor', '--json');
      const ping = expect.objectContaining({ check: 'ping', status: 'ok' });
      expect(JSON.parse(stdout)).toMatchObject({ findings: expect.arrayContaining([ping]) });
    });

    it('takes locks in its own Jest, and in Vitest if that runs after it', async () => {
      const { stderr } = await consumer.npm('test');
      expect(stderr).toMatch(/^Tests: +\d+ passed, \d+ total$/m);
    });

    it.each(imports)('has each class once, by require and by import: %s', async (name) => {
      expect(await consumer.evaluate(twice(name))).toEqual({ differing: [], missing: [] });
    });

    it('has the same tokens in the copies of both formats', async () => {
      const { esm, cjs } = (await consumer.evaluate(TOKENS)) as Record<
        'esm' | 'cjs',
        (string | null)[]
      >;
      expect(esm).toContain('nestjs-redis-lock:options');
      expect(esm).not.toContain(null);
      expect(cjs).toEqual(esm);
    });
  });
}

interface Tree {
  readonly problems?: readonly string[];
  readonly dependencies: Readonly<Record<string, { readonly version: string }>>;
}

const REQUIRE = `
  import { createRequire } from 'node:module';
  const require = createRequire(process.cwd() + '/');`;

/** By `module-sync`; without it an application would have two of each, which know nothing of each other. */
function twice(name: string): string {
  return `${REQUIRE}
    const imported = await import('${name}');
    const required = require('${name}');
    const names = Object.keys(imported);
    console.log(JSON.stringify({
      differing: names.filter((name) => imported[name] !== required[name]),
      missing: Object.keys(required).filter((name) => !names.includes(name)),
    }));`;
}

/** Where `module-sync` is not known, as in Jest, the formats meet in what Nest is asked for by symbol. */
const TOKENS = `${REQUIRE}
  const root = require.resolve('nestjs-redis-lock/package.json').replace('package.json', 'dist/');
  const tokens = ({ RedisLockModule }) => RedisLockModule.forRoot().providers
    .map(({ provide }) => provide)
    .filter((token) => typeof token === 'symbol')
    .map((token) => Symbol.keyFor(token));
  console.log(JSON.stringify({
    esm: tokens(await import(root + 'esm/index.js')),
    cjs: tokens(require(root + 'cjs/index.js')),
  }));`;
