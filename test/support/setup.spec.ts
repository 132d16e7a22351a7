import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { eventually } from './eventually.js';

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url));
const LOCK = {
  packages: { '': {}, 'node_modules/a': {}, 'node_modules/b': {}, 'node_modules/c': {} },
};

/** The record that npm writes of its packages. */
const DEMO = '{}';
const ALL = '{ "node_modules/c": { "dev": true } }';

/** It goes on when the spec says so, and not after a time. */
const NPM = `
const [DEMO, ALL] = ${JSON.stringify([DEMO, ALL])};
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
process.on('SIGTERM', () => undefined);
const args = process.argv.slice(2).join(' ');
writeFileSync('started', args);
const timeOf = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
writeFileSync('trusted', String(timeOf('node_modules/.package-lock.json') >= timeOf('node_modules')));
writeFileSync('peers', process.env.npm_config_legacy_peer_deps ?? 'as in .npmrc');
// The other end sees when this process is gone.
if (process.env.WATCHED_AT) connect(Number(process.env.WATCHED_AT), '127.0.0.1');
mkdirSync('node_modules/a', { recursive: true });
mkdirSync('node_modules/b', { recursive: true });
writeFileSync('node_modules/a/package.json', '{}');
setInterval(() => {
  if (existsSync('fail')) {
    console.error('npm error no network');
    process.exit(7);
  }
  if (!existsSync('finish')) return;
  writeFileSync('node_modules/b/package.json', '{}');
  writeFileSync('node_modules/.package-lock.json', args.includes('--omit=dev') ? DEMO : ALL);
  process.exit(0);
}, 20);
`;

/** All that the library is made of, and what its build leaves. */
const INPUTS = [
  ...['docs/errors.md', 'README.md', 'README.zh-CN.md', 'LICENSE', 'site/settings.mjs'],
  ...[
    'libs/redis-lock/src/index.ts',
    'libs/redis-lock/package.json',
    'libs/redis-lock/tsconfig.lib.json',
    'tsconfig.json',
  ],
];
const BUILT = 'libs/redis-lock/dist/cjs/index.d.ts';
const BUILD = `
import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('libs/redis-lock/dist/cjs', { recursive: true });
writeFileSync('${BUILT}', '');
`;

describe('setup', () => {
  let clone = '';
  beforeEach(async () => {
    clone = await mkdtemp(join(tmpdir(), 'setup-'));
    await cp(SCRIPTS, join(clone, 'scripts'), { recursive: true });
    await writeFile(join(clone, 'package.json'), '{ "type": "module" }');
    await writeFile(join(clone, 'package-lock.json'), JSON.stringify(LOCK));
    await mkdir(join(clone, 'npm'));
    await writeFile(join(clone, 'npm', 'npm-cli.js'), NPM);
  });
  afterEach(() => rm(clone, { recursive: true, force: true }));

  const setUp = (environment: NodeJS.ProcessEnv = {}) =>
    start([join(clone, 'scripts', 'setup.mjs')], environment);
  function start(args: string[], environment: NodeJS.ProcessEnv = {}) {
    const child = spawn(process.execPath, args, {
      cwd: clone,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...environment,
        npm_execpath: join(clone, 'npm', 'npm-cli.js'),
        NODE_OPTIONS: '',
      },
    });
    const run = { child, stderr: '', exited: once(child, 'close') };
    child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
    return run;
  }
  /** Runs a line with all that a module of `scripts` exports. */
  function evaluate(module: string, code: string, environment: NodeJS.ProcessEnv = {}) {
    const url = pathToFileURL(join(clone, 'scripts', module)).href;
    const names = `Object.assign(globalThis, await import(${JSON.stringify(url)}));`;
    return start(['--input-type=module', '--eval', names + code], environment);
  }
  async function write(file: string, text: string) {
    await mkdir(dirname(join(clone, file)), { recursive: true });
    await writeFile(join(clone, file), text);
  }
  const tell = (file: string) => write(file, '');

  it('tells how many of the packages of this system are there', async () => {
    const run = setUp();
    await eventually(() => {
      expect(run.stderr).toMatch(/^Installing dependencies {2}1 of 2 packages {2}\d+ s$/m);
    });
    await tell('finish');
    expect(await run.exited).toEqual([0, null]);
    expect(run.stderr).toMatch(/2 of 2 packages {2}\d+ s\n$/);
  });

  it('installs once', async () => {
    await tell('finish');
    expect(await setUp().exited).toEqual([0, null]);
    await rm(join(clone, 'started'));
    const again = setUp();
    expect(await again.exited).toEqual([0, null]);
    expect(again.stderr).toBe('');
    expect(existsSync(join(clone, 'started'))).toBe(false);
  });

  describe('with dev dependencies', () => {
    const lock = () => join(clone, 'package-lock.json');
    const record = () => join(clone, 'node_modules', '.package-lock.json');
    beforeEach(async () => {
      const packages = { ...LOCK.packages, 'node_modules/c': { dev: true } };
      await writeFile(lock(), JSON.stringify({ packages }, null, 1));
      await mkdir(join(clone, 'node_modules'));
      await tell('finish');
    });

    const installing = (dev: boolean) =>
      evaluate('install.mjs', `await install('.', 'dependencies', { dev: ${dev} });`);
    /** The command that npm receives; undefined if it need not run. */
    async function npmGets(dev: boolean): Promise<string | undefined> {
      expect(await installing(dev).exited).toEqual([0, null]);
      return readFile(join(clone, 'started'), 'utf8').catch(() => undefined);
    }
    const all = 'ci --loglevel=error';
    const demo = 'ci --omit=dev --loglevel=error';
    /** A demo may run from the present files: they stay. */
    const more = 'install --no-save --loglevel=error';

    it('lets npm trust its record, though a folder beside the packages is newer', async () => {
      await writeFile(record(), DEMO);
      const [installedAt, now] = [new Date(Date.now() - 60_000), new Date()];
      await utimes(lock(), now, installedAt);
      await utimes(record(), now, installedAt);
      expect(await npmGets(true)).toBe(more);
      expect(await readFile(join(clone, 'trusted'), 'utf8')).toBe('true');
    });

    it('waits for another command in the folder, and keeps what that has installed', async () => {
      await rm(join(clone, 'finish'));
      const first = installing(false);
      const npm = () => readFile(join(clone, 'started'), 'utf8');
      await eventually(async () => expect(await npm()).toBe(demo));
      const second = installing(true);
      await eventually(() => expect(second.stderr).toContain('Waiting for another command'));
      expect(await npm()).toBe(demo);
      await tell('finish');
      expect([await first.exited, await second.exited]).toEqual([
        [0, null],
        [0, null],
      ]);
      expect(await npm()).toBe(more);
    });

    it('does not wait for a command that was killed', async () => {
      const [mark, then] = [join(clone, '.cache', 'busy'), new Date(Date.now() - 60_000)];
      await mkdir(mark, { recursive: true });
      await utimes(mark, then, then);
      expect(await npmGets(true)).toBe(all);
      expect(existsSync(mark)).toBe(false);
    });

    it.each([
      { there: undefined, asIn: 'no', dev: false, npm: demo },
      { there: undefined, asIn: 'no', dev: true, npm: all },
      { there: DEMO, asIn: 'this', dev: false, npm: undefined },
      { there: DEMO, asIn: 'this', dev: true, npm: more },
      { there: DEMO, asIn: 'an older', dev: false, npm: demo },
      { there: ALL, asIn: 'this', dev: true, npm: undefined },
      { there: ALL, asIn: 'this', dev: false, npm: undefined },
      { there: ALL, asIn: 'an older', dev: false, npm: all },
    ])('$there as in $asIn lock file, dev: $dev: npm $npm', async ({ there, asIn, dev, npm }) => {
      const now = new Date();
      const lockedAt = new Date(now.getTime() + (asIn === 'this' ? -1_000 : 1_000));
      if (there !== undefined) await writeFile(record(), there);
      await utimes(lock(), now, lockedAt);
      expect(await npmGets(dev)).toBe(npm);
    });
  });

  it('builds the library anew when a package of it is another one', async () => {
    await tell('finish');
    for (const file of INPUTS) await write(file, '');
    await write('scripts/library/build.mjs', BUILD);
    const build = async () => {
      const run = start([join(clone, 'scripts', 'setup.mjs'), '--library']);
      expect(await run.exited).toEqual([0, null]);
      return Math.round((await stat(join(clone, BUILT))).mtimeMs);
    };
    const [soon, later] = [new Date((await build()) + 1_000), new Date(Date.now() + 60_000)];
    await utimes(join(clone, BUILT), soon, soon);
    expect(await build()).toBe(soon.getTime());
    for (const file of ['package-lock.json', 'node_modules/.package-lock.json'])
      await utimes(join(clone, file), later, later);
    expect(await build()).not.toBe(soon.getTime());
  });

  it('keeps one version of a private program, and those of other systems', async () => {
    const [ours, others] = [`${process.platform}-${process.arch}`, `${process.platform}-mips-1`];
    await write(`.cache/redis/${others}/redis-server`, '');
    for (const version of ['1', '2']) {
      const run = evaluate(
        'private-copy.mjs',
        `import { mkdir } from 'node:fs/promises';
        await makeCopy(copyFolder('redis', '${version}'), (root) => mkdir(root), () => true);`,
      );
      expect(await run.exited).toEqual([0, null]);
    }
    const kept = await readdir(join(clone, '.cache', 'redis'));
    expect(kept.sort()).toEqual([others, `${ours}-2`].sort());
  });

  it('leaves the way with peers to the .npmrc of each folder, and its own environment as it is', async () => {
    await tell('finish');
    const code = `await install('.', 'dependencies');
      process.exit(process.env.npm_config_legacy_peer_deps === 'true' ? 0 : 1);`;
    const run = evaluate('install.mjs', code, { npm_config_legacy_peer_deps: 'true' });
    expect(await run.exited).toEqual([0, null]);
    expect(await readFile(join(clone, 'peers'), 'utf8')).toBe('as in .npmrc');
  });

  it('hands on what npm says when it fails, and its exit code', async () => {
    await tell('fail');
    const run = setUp();
    expect(await run.exited).toEqual([7, null]);
    // A slow npm has its progress before it.
    expect(run.stderr).toMatch(/^(Installing dependencies .*\n)*npm error no network\n$/);
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('takes npm along at %s', async (signal) => {
    const watcher = createServer().listen(0, '127.0.0.1');
    await once(watcher, 'listening');
    const npmStarts = once(watcher, 'connection') as Promise<[Socket]>;
    const { port } = watcher.address() as AddressInfo;
    const run = setUp({ WATCHED_AT: String(port) });
    const [npm] = await npmStarts;
    const npmEnds = once(
      npm.resume().on('error', () => undefined),
      'close',
    );
    run.child.kill(signal);
    const code = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 }[signal];
    expect(await run.exited).toEqual([code, null]);
    await npmEnds;
    watcher.close();
  });
});
