import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import pg from 'pg';
import { startPostgresServer } from '../../scripts/postgres-server.mjs';
import type { PostgresServer } from '../../scripts/postgres-server.mjs';
import { eventually, useRealRedis } from '../support/set-up.js';
import { DemoProcess } from '../demo/demo-process.js';

const PRIVATE_REDIS = /Private Redis on 127\.0\.0\.1:(\d+)/;
const PRIVATE_POSTGRES = /Private Postgres on 127\.0\.0\.1:(\d+)/;
const SERVING = /at (http:\/\/127\.0\.0\.1:\d+) /;

describe('npm run demo', () => {
  const redis = useRealRedis();
  afterEach(() => DemoProcess.endAll());

  it('refuses an unknown option in one line', async () => {
    const demo = DemoProcess.start(['--stok', '5']);
    expect(await demo.exited).toBe(2);
    expect(demo.stderr).toBe('unknown option --stok; --help lists the options\n');
    expect(demo.stdout).toBe('');
  });

  it('speaks Chinese where the surroundings do', async () => {
    const demo = DemoProcess.start(['--stock', '0'], { LANG: 'zh_CN.UTF-8' });
    expect(await demo.exited).toBe(2);
    expect(demo.stderr).toMatch(/^--stock 不能是 "0"；.*\n$/);
  });

  it('--check measures, strikes, compares and leaves nothing behind', async () => {
    const some = ['--strategies', 'in-process,set-nx-px,redis-lock', '--faults', 'frozen'];
    const parts = ['--parts', 'opening,offer'];
    const demo = DemoProcess.start([
      '--check',
      '--json',
      '--stock',
      '5',
      '--buyers',
      '12',
      ...some,
      ...parts,
    ]);
    expect([await demo.exited, demo.stderr]).toEqual([0, expect.stringContaining('check passed')]);
    const report = JSON.parse(demo.stdout) as {
      loads: unknown[];
      faults: unknown[];
      parts: unknown[];
    };
    expect(report).toMatchObject({ stock: 5, buyers: 12, instances: 2, mismatches: [] });
    expect(report.loads).toHaveLength(6);
    expect(report.faults).toHaveLength(3);
    expect(report.parts).toHaveLength(3);
    const port = Number(PRIVATE_REDIS.exec(demo.stderr)?.[1]);
    expect(await isListening(port)).toBe(false);
  });

  it('--tutorial prints eight lessons, each with its log before its flaw', async () => {
    const demo = DemoProcess.start(['--tutorial']);
    expect(await demo.exited).toBe(0);
    const lessons = demo.stdout.trimEnd().split('\n\n');
    expect(lessons).toHaveLength(8);
    const shape = /^--- \d\. .*\n\+ .*\n(?:(?:扣减|获取锁).*\n){11}(?:Flaw|Holds) .*$/;
    expect(lessons.filter((lesson) => !shape.test(lesson))).toEqual([]);
    const left = [9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((stock) => `扣减成功，剩余库存：${stock}`);
    expect(lessons[6]?.split('\n').slice(2, -1)).toEqual([...left, '扣减失败，剩余库存不足']);
  });

  describe('when it serves', () => {
    const serve = (environment?: NodeJS.ProcessEnv) =>
      DemoProcess.start(['--strategies', 'none'], environment);

    it('sells from at least two processes, replaces one that dies, and leaves nothing behind', async () => {
      const demo = serve();
      const url = await demo.says(SERVING);
      const redisPort = Number(await demo.says(PRIVATE_REDIS));
      const servedBy = new Set<string | null>();
      for (let buyer = 1; servedBy.size < 2; buyer += 1) {
        const answer = await order(url, `buyer-${buyer}`);
        expect(answer.status).toBe(201);
        servedBy.add(answer.headers.get('x-served-by'));
      }
      const [pid] = servedBy;
      process.kill(Number(pid), 'SIGKILL');
      await demo.says(new RegExp(`Process ${pid} ended`));
      await eventually(async () => (await order(url, 'bob')).ok);
      const postgresPort = Number(await demo.says(PRIVATE_POSTGRES));
      expect(await demo.signal('SIGINT')).toBe(0);
      expect(await isListening(redisPort)).toBe(false);
      expect(await isListening(postgresPort)).toBe(false);
      expect(await isListening(Number(new URL(url).port))).toBe(false);
    });

    it('takes its servers with it when it is killed', async () => {
      const demo = serve();
      const url = await demo.says(SERVING);
      const redisPort = Number(await demo.says(PRIVATE_REDIS));
      const postgresPort = Number(await demo.says(PRIVATE_POSTGRES));
      expect(await demo.signal('SIGKILL')).toBe('SIGKILL');
      await eventually(async () => !(await isListening(redisPort)));
      await eventually(async () => !(await isListening(postgresPort)));
      await eventually(async () => !(await isListening(Number(new URL(url).port))));
    });

    it('leaves nothing of the measurements on the shelf of a REDIS_URL, and then no key of its own', async () => {
      await redis.admin.set('theirs', 'stays');
      const some = ['--stock', '2', '--buyers', '3', '--strategies', 'setnx,lua-release'];
      const demo = DemoProcess.start(
        [...some, '--faults', 'killed-in-section', '--parts', 'none'],
        {
          REDIS_URL: redis.url,
        },
      );
      const url = await demo.says(SERVING, { withinMs: 120_000 });
      expect(demo.stderr).toContain('removing only those keys');
      const own = (await redis.admin.keys('*')).filter((key) => key !== 'theirs');
      expect(own.every((key) => /seckill-demo:[0-9a-f]{16}:/.test(key))).toBe(true);
      // The shop has a queue, a reconciliation, and a latch that remembers its opening for 10 minutes.
      const ofShop = /^nestjs_(latch_request|client):|:bull:orders:|reconciliation/;
      const kept = own.filter((key) => !ofShop.test(key));
      const counter = kept.map((key) => key.replace(/^seckill-demo:\w+:/, ''));
      expect(counter).toEqual(['miaosha:1']);
      const shown = await fetch(`${url}/api/products/1`);
      expect(await shown.json()).toMatchObject({ stock: 100, orders: 0 });
      expect((await fetch(`${url}/api/products/2`)).status).toBe(404);
      expect(await demo.signal('SIGTERM')).toBe(0);
      expect(await redis.admin.keys('*')).toEqual(['theirs']);
    });

    describe('with a DATABASE_URL', () => {
      let postgres: PostgresServer;
      beforeAll(async () => {
        postgres = await startPostgresServer();
      });
      afterAll(() => postgres.stop());

      it('keeps quiet about its locks, and leaves the database as it was', async () => {
        const quiet = serve({ DATABASE_URL: postgres.url });
        const url = await quiet.says(SERVING);
        expect(quiet.stderr).toContain('removing only that');
        expect(await schemasIn(postgres.url)).toBe(1);
        const before = quiet.stdout + quiet.stderr;
        expect((await order(url, 'alice')).status).toBe(201);
        expect(await quiet.signal('SIGTERM')).toBe(0);
        expect(quiet.stdout + quiet.stderr).toBe(`${before}Stopping.\n`);
        await eventually(async () => (await schemasIn(postgres.url)) === 0);
      });

      it('leaves the servers as they were also when it is killed; its locks log if they are asked to', async () => {
        const environment = { REDIS_URL: redis.url, DATABASE_URL: postgres.url };
        const demo = serve({ ...environment, SECKILL_LOG_LEVEL: 'debug' });
        expect((await order(await demo.says(SERVING), 'alice')).status).toBe(201);
        await demo.says(/LOG.*Lock "product_1" released/);
        await demo.signal('SIGKILL');
        await eventually(async () => (await redis.admin.keys('*')).length === 0);
        await eventually(async () => (await schemasIn(postgres.url)) === 0);
      });
    });
  });

  it('says so in one line when the Postgres of DATABASE_URL is not there', async () => {
    const demo = DemoProcess.start([], { DATABASE_URL: 'postgres://127.0.0.1:1/shop' });
    expect(await demo.exited).toBe(69);
    expect(demo.stderr).toMatch(
      /^the Postgres at DATABASE_URL cannot be used: .*ECONNREFUSED.*\n$/,
    );
  });

  it('says so in one line when the Redis of REDIS_URL is not there', async () => {
    const demo = DemoProcess.start([], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect(await demo.exited).toBe(69);
    expect(demo.stderr).toMatch(/^the Redis at REDIS_URL cannot be used: .*ECONNREFUSED.*\n$/);
  });
});

function order(url: string, buyer: string): Promise<Response> {
  return fetch(`${url}/api/products/1/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ buyer }),
  });
}

async function schemasIn(url: string): Promise<number> {
  const client = new pg.Client(url);
  await client.connect();
  const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'seckill%'");
  await client.end();
  return rows.length;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
