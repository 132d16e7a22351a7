import { beforeAll, describe, expect, it } from '@jest/globals';
import { useRealRedis } from '../support/set-up.js';
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

/** An application that has ioredis, and no package of Nest. */
describe('without-nest', () => {
  const redis = useRealRedis();
  let consumer: Consumer;

  beforeAll(async () => {
    consumer = new Consumer('without-nest', { REDIS_URL: redis.url });
    await consumer.install();
  });

  it('needs no package but ioredis', async () => {
    const { stdout } = await consumer.npm('ls', '--all', '--parseable');
    const installed = stdout.trim().split(/[\r\n]+/);
    const names = installed.map((path) => path.split(/node_modules[\\/]/).at(-1) ?? '');
    expect(names).toEqual(expect.arrayContaining(['ioredis', 'nestjs-redis-lock']));
    expect(names.filter((name) => OF_NEST.test(name))).toEqual([]);
  });

  it('compiles, and the types of all packages with it', async () => {
    await consumer.npm('run', 'build');
    expect(await consumer.after('tsconfig.json')).toContain('"skipLibCheck": false');
  });

  it('takes locks, hears of them, and ends by itself', async () => {
    const { stdout, stderr } = await consumer.npm('start', '--silent');
    const events = ['opened', 'acquired', 'acquired', 'released', 'released'];
    expect([JSON.parse(stdout), stderr]).toEqual([{ lease: 'held', events }, '']);
    expect([await redis.admin.keys('*'), await redis.clients()]).toEqual([[], []]);
  });

  it.each([
    ['import', `await import('nestjs-redis-lock/core')`],
    ['require', `require('nestjs-redis-lock/core')`],
    [
      'require where it cannot load ES modules',
      `require(require.resolve('nestjs-redis-lock/package.json').replace('package.json', 'dist/cjs/core.js'))`,
    ],
  ])('loads no module of Nest by %s', async (_, load) => {
    const packages = (await consumer.evaluate(loaded(load))) as string[];
    expect(packages).toEqual(expect.arrayContaining(['ioredis', 'nestjs-redis-lock']));
    expect(packages.filter((name) => OF_NEST.test(name))).toEqual([]);
  });

  it('is told what the root lacks', async () => {
    const load = `import('nestjs-redis-lock').catch(({ message }) => message)`;
    const message = await consumer.evaluate(`console.log(JSON.stringify(await ${load}))`);
    expect(message).toContain("Cannot find package '@nestjs/common'");
  });
});
