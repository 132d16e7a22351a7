import { beforeAll, describe, expect, it } from '@jest/globals';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, useRealRedis } from '../support/set-up.js';
import { Consumer } from './consumer.js';

/** Prints the names of the packages of which Node has loaded a file. */
const loaded = (load: string) => `
  import { createRequire } from 'node:module';
  import { Session } from 'node:inspector';
  const require = createRequire(process.cwd() + '/');
  const urls = [];
  const session = new Session();
  session.connect();
  session.on('Debugger.scriptParsed', ({ params }) => urls.push(params.url));
  session.post('Debugger.enable');
  ${load};
  session.disconnect();
  const names = urls.map((url) => /.*node_modules[\\\\/]((@[^\\\\/]+[\\\\/])?[^\\\\/]+)/.exec(url)?.[1]);
  console.log(JSON.stringify([...new Set(names.filter(Boolean))].sort()));`;

const OF_NEST = /^(@nestjs\b|rxjs$|reflect-metadata$)/;

/** The packages of which an entry loads files. The client of Prometheus brings three. */
const PACKAGES = {
  core: [],
  'node-redis': [],
  otel: ['@opentelemetry/api'],
  prometheus: ['@opentelemetry/api', 'bintrees', 'prom-client', 'tdigest'],
};
const WAYS = {
  import: (entry: string) => `await import('nestjs-redis-lock/${entry}')`,
  require: (entry: string) => `require('nestjs-redis-lock/${entry}')`,
  'require where it cannot load ES modules': (entry: string) =>
    `require(require.resolve('nestjs-redis-lock/package.json').replace('package.json', 'dist/cjs/${entry}.js'))`,
};
const LOADS = Object.entries(PACKAGES).flatMap(([entry, packages]) =>
  Object.entries(WAYS).map(([way, load]) => [entry, way, load(entry), packages] as const),
);

/** An application that has iovalkey in place of ioredis, and no package of Nest. */
describe('without-nest', () => {
  const redis = useRealRedis();
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = new Consumer('without-nest', { REDIS_URL: redis.url });
    await consumer.install();
  });

  it('needs no package but a client, and those of its metrics and traces', async () => {
    const { stdout } = await consumer.npm('ls', '--all', '--parseable');
    const installed = stdout.trim().split(/[\r\n]+/);
    const names = installed.map((path) => path.split(/node_modules[\\/]/).at(-1) ?? '');
    expect(names).toEqual(expect.arrayContaining(['iovalkey', 'nestjs-redis-lock']));
    expect(names.filter((name) => name === 'ioredis' || OF_NEST.test(name))).toEqual([]);
  });

  it('compiles, and the types of all packages with it', async () => {
    await consumer.npm('run', 'build');
    expect(await consumer.after('tsconfig.json')).toContain('"skipLibCheck": false');
  });

  it('takes locks, counts them, and ends by itself', async () => {
    const { stdout, stderr } = await consumer.npm('start', '--silent');
    const events = ['opened', 'acquired', 'acquired', 'released', 'released'];
    const leases = ['held', 'held'];
    expect([JSON.parse(stdout), stderr]).toEqual([
      { leases, events: [...events, ...events], counted: 2 },
      '',
    ]);
    expect(await redis.admin.keys('*')).toEqual([]);
    await eventually(async () => expect(await redis.clients()).toEqual([]));
  });

  it.each(LOADS)('loads no package but those of %s by %s', async (_, __, load, packages) => {
    const expected = ['nestjs-redis-lock', ...packages].sort();
    expect(await consumer.evaluate(loaded(load))).toEqual(expected);
  });

  it('hears which clients it may install when it has none', async () => {
    const [installed, away] = ['iovalkey', 'iovalkey-away'].map((name) =>
      join(consumer.folder, 'node_modules', name),
    ) as [string, string];
    await rename(installed, away);
    const messages = await consumer.evaluate(`
      const { openLocks } = await import('nestjs-redis-lock/core');
      const messageOf = (options) => {
        try {
          openLocks(options);
        } catch ({ code, message }) {
          return [code, message];
        }
      };
      console.log(JSON.stringify([messageOf({}), messageOf({ connection: { host: 'redis' } })]));`);
    await rename(away, installed);
    const told = ['LOCK_CONFIGURATION', expect.stringContaining('npm install ioredis')];
    expect(messages).toEqual([told, told]);
  });

  it('is told what the root lacks', async () => {
    const load = `import('nestjs-redis-lock').catch(({ message }) => message)`;
    const message = await consumer.evaluate(`console.log(JSON.stringify(await ${load}))`);
    expect(message).toContain("Cannot find package '@nestjs/common'");
  });
});
