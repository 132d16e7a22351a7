import { afterEach, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { EXIT } from '../../libs/redis-lock/src/cli/io.js';
import { versionOf } from '../../libs/redis-lock/src/cli/command-line.js';
import { freePort, startRedisServer } from '../../scripts/redis-server.mjs';
import { compiled } from '../../scripts/compile.mjs';
import { eventually, RedisFixture, useProxy, useRealRedis } from '../support/set-up.js';
import { doctor, run, type Outcome } from './command.js';

const redis = useRealRedis();
const proxy = useProxy(redis);
const SECRET = 'a p%ss&word';
const WRITTEN = encodeURIComponent(SECRET);

/** A command that waits for a server in vain may take 4 s; the specs wait 5 times as long. */
const PATIENCE_MS = 5 * 4_000;

afterEach(() => eventually(async () => (await redis.clients()).length === 0));

/** As a process of its own, which has to end by itself. */
function shell(args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  const main = compiled(new URL('../../libs/redis-lock/src/cli/main.ts', import.meta.url));
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [main, ...args],
      { env: { ...process.env, NODE_OPTIONS: '', ...env }, timeout: PATIENCE_MS },
      (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
      },
    );
  });
}

describe('the command line', () => {
  it('documents its exit codes', () => {
    expect(EXIT).toEqual({ fine: 0, broken: 1, usage: 2, unreachable: 69 });
  });

  it('--help and --version say what they should, and connect to no server', async () => {
    expect(await run(['--help'])).toMatchObject({ code: 0, err: '' });
    expect((await run(['doctor', '-h'])).out).toContain('inspect <name>');
    expect(await run(['--version'])).toEqual({ code: 0, out: '1.2.3\n', err: '' });
  });

  it('finds its version in the package it is in, by whatever link', () => {
    const folder = mkdtempSync(join(tmpdir(), 'version-'));
    try {
      const cli = join(folder, 'package', 'dist', 'esm', 'cli');
      mkdirSync(cli, { recursive: true });
      writeFileSync(join(cli, 'main.js'), '');
      const manifest = { name: 'nestjs-redis-lock', version: '4.5.6' };
      writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify(manifest));
      writeFileSync(join(folder, 'package', 'dist', 'esm', 'package.json'), '{"type":"module"}');
      symlinkSync(join(cli, 'main.js'), join(folder, 'bin'));
      expect(versionOf(join(folder, 'bin'))).toBe('4.5.6');
      rmSync(join(folder, 'package', 'package.json'));
      expect(versionOf(join(folder, 'bin'))).toBe('unknown');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    [[], 'A command is missing: doctor, inspect, unlock'],
    [['repair'], 'Unknown command repair: doctor, inspect, unlock'],
    [['inspct', 'a'], 'Unknown command inspct: did you mean inspect?'],
    [['doctor', 'product_1'], 'doctor takes no name; write --url redis://…'],
    [['inspect'], 'inspect takes one name'],
    [['inspect', 'a', 'b'], 'inspect takes one name'],
    [['inspect', 'a', '--yes'], '--yes is an option of unlock'],
    [['unlock', '--yes'], 'unlock takes one name'],
    [['unlock', 'a'], 'in a script add --yes'],
    [['unlock', 'a', '--kind', 'latch', '--yes'], '--kind is one of lock, fair'],
    [['unlock', 'a', '--reason', '', '--yes'], 'reason must be a text'],
    [['inspect', ''], 'must not be empty'],
    [['inspect', 'a{b'], 'one pair of braces'],
    [['inspect', 'redisson_lock_token:{a}'], 'is reserved for helper keys'],
    [['doctor', '--key-prefix', 'a\nb'], 'control'],
    [['doctor', '--prefix', 'app:'], 'Unknown option --prefix: did you mean --key-prefix?'],
    [['doctor', '--perfix=app:'], 'Unknown option --perfix: did you mean --key-prefix?'],
    [['doctor', '--lcuster'], 'Unknown option --lcuster: did you mean --cluster?'],
    [['doctor', '--ready-check'], 'Unknown option --ready-check: did you mean --no-ready-check?'],
    [['doctor', '--debug'], 'Unknown option --debug: --url, --cluster'],
    [['doctor', '-x'], 'Unknown option -x: --url, --cluster'],
    [['doctor', '--url'], 'argument missing'],
    [['doctor', '--url', ''], 'it is empty'],
    [['doctor', '--url', `http://shop:${WRITTEN}@redis`], 'redis:// or rediss://'],
    [['doctor', '--url', 'redis://127.0.0.1/a'], 'database number'],
    [['doctor', '--url', 'redis://127.0.0.1?readOnly=1'], 'reads from a replica'],
    [['doctor', '--url', 'redis://127.0.0.1', '--ca', 'ca.pem'], '--ca needs a url'],
    [['doctor', '--url', 'rediss://127.0.0.1', '--ca', '/nowhere/ca.pem'], 'cannot be read'],
    [['doctor', '--cluster', '--sentinel', 'locks'], 'exclude each other'],
    [['doctor', '--sentinel', ''], 'the name of a master'],
    [['doctor', '--cluster', '--url', '/tmp/redis.sock'], 'not the path of a socket'],
  ])('%j is not understood, and nothing is sent', async (args, message) => {
    const commands = await redis.commandsDuring(async () => {
      const { code, out, err } = await run(args, { env: { REDIS_URL: redis.url } });
      expect({ code, out }).toEqual({ code: 2, out: '' });
      expect(err).toContain(message);
      expect(err).toContain('--help');
      expect(err).not.toContain(WRITTEN);
    });
    expect(commands).toEqual({});
  });

  it('69: no server is there', async () => {
    const url = `redis://shop:${WRITTEN}@127.0.0.1:${await freePort()}`;
    const { code, status, of, out } = await doctor(['--url', url]);
    expect({ code, status }).toEqual({ code: 69, status: 'fail' });
    expect(of('connection')).toMatchObject([
      { status: 'fail', found: expect.stringContaining('ECONNREFUSED') },
    ]);
    expect(out).not.toMatch(/shop|ss%26word|ss&word/);
    const inspected = await run(['inspect', 'a', '--url', url]);
    expect(inspected).toMatchObject({ code: 69, out: '' });
    expect(inspected.err).toContain('ECONNREFUSED');
    expect(await run(['doctor', '--cluster', '--url', url])).toMatchObject({ code: 69 });
    expect(await run(['doctor', '--sentinel', 'locks', '--url', url])).toMatchObject({ code: 69 });
  });

  it('69: the connection breaks while other prefixes are searched', async () => {
    const lost = proxy.current.loseRequest({ containing: 'scan' });
    const { code, err } = await run(['inspect', '9', '--url', proxy.current.url]);
    expect({ code, err }).toEqual({ code: 69, err: 'no answer to SCAN: Connection is closed.\n' });
    expect(lost.hits).toBe(1);
    lost.heal();
  });

  it('69: no server answers, from the start or any more', async () => {
    const start = performance.now();
    const hole = proxy.current.blackhole('both');
    const silent = await Promise.all([
      shell(['doctor', '--json'], { REDIS_URL: proxy.current.url }),
      run(['inspect', 'a', '--url', proxy.current.url]),
      run(['doctor', '--cluster', '--url', proxy.current.url]),
    ]);
    hole.heal();
    // The server has not heard that they are gone.
    proxy.current.cut();
    expect(silent.map(({ code }) => code)).toEqual([69, 69, 69]);
    expect(silent[0].out).toContain('"connection"');

    const lost = proxy.current.drop('toServer', { containing: 'config' });
    const { code, of } = await doctor(['--url', proxy.current.url]);
    lost.heal();
    expect(code).toBe(69);
    expect(of('ping')).toMatchObject([{ status: 'ok' }]);
    expect(of('connection')).toMatchObject([
      { status: 'fail', found: expect.stringContaining('no answer to CONFIG') },
    ]);
    expect(performance.now() - start).toBeLessThan(2 * PATIENCE_MS);
  });

  it('1: a server that lets no user in, and no password is shown', async () => {
    await redis.admin.acl('SETUSER', 'shop', 'on', `>${SECRET}`, '~*', '&*', '+@all');
    for (const [url, env] of [
      [redis.url.replace('//', '//shop:wrong-password@'), {}],
      [redis.url, { REDIS_USERNAME: 'shop', REDIS_PASSWORD: 'wrong-password' }],
    ] as const) {
      const { code, of, out } = await doctor(['--url', url], { env });
      expect(code).toBe(1);
      expect(of('connection')).toMatchObject([
        { status: 'fail', found: expect.stringContaining('WRONGPASS') },
      ]);
      expect(out).not.toContain('wrong-password');
    }
    expect(await run(['inspect', 'a'], { env: { REDIS_URL: redis.url } })).toMatchObject({
      code: 0,
    });
  });

  it('takes the user and the password from the url or from the environment', async () => {
    await redis.admin.acl('SETUSER', 'shop', 'on', `>${SECRET}`, '~*', '&*', '+@all');
    const inUrl = await doctor(['--url', redis.url.replace('//', `//shop:${WRITTEN}@`)], {
      env: { REDIS_USERNAME: 'other', REDIS_PASSWORD: 'other' },
    });
    const inEnv = await doctor(['--url', redis.url], {
      env: { REDIS_USERNAME: 'shop', REDIS_PASSWORD: SECRET },
    });
    for (const { code, of, out } of [inUrl, inEnv]) {
      expect(code).toBe(0);
      expect(of('permissions')[0]?.found).toContain('the user shop');
      expect(out).not.toMatch(/ss%26word|ss&word/);
    }
  });

  it('--cluster to a single server is told so', async () => {
    const { code, of } = await doctor(['--cluster', '--url', redis.url]);
    expect(code).toBe(1);
    expect(of('connection')).toMatchObject([{ fix: expect.stringContaining('remove --cluster') }]);
  });

  it('runs as a process of its own, which ends when it is done', async () => {
    const { code, out, err } = await shell(['doctor'], { REDIS_URL: redis.url });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^ok {4}message/m);
    expect(await redis.admin.keys('*')).toEqual([]);
    expect(await shell(['--version'])).toMatchObject({ code: 0, out: 'unknown\n' });
  });

  it('ends as it would have when no process reads what it says', async () => {
    const main = compiled(new URL('../../libs/redis-lock/src/cli/main.ts', import.meta.url));
    const args = [main, 'doctor', '--url', redis.url];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [err, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ err, ended }).toEqual({ err: '', ended: [0, null] });
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('takes the path of a socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'socket-'));
    const path = join(folder, 'redis.sock');
    const other = new RedisFixture((at) =>
      startRedisServer({ args: ['--unixsocket', path], ...at }),
    );
    await other.start();
    try {
      expect(await doctor(['--url', path])).toMatchObject({ code: 0 });
    } finally {
      await other.close();
      rmSync(folder, { recursive: true });
    }
  });
});
