import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { compile, compiled } from '../../scripts/compile.mjs';
import { optionTexts } from '../../apps/seckill-demo/src/options/help.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NEEDED = ['apps', 'package-lock.json', 'package.json', 'scripts'];

describe('npm run demo in a fresh clone', () => {
  let clone = '';
  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), 'fresh-clone-'));
    for (const name of NEEDED) await cp(join(ROOT, name), join(clone, name), { recursive: true });
  });
  afterAll(() => rm(clone, { recursive: true, force: true }));

  function demo(...args: string[]) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(clone, 'scripts', 'demo.mjs'), ...args],
      { cwd: clone, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', NODE_OPTIONS: '' } },
    );
    return { status, stdout, stderr };
  }

  it.each(['en', 'zh'] as const)('gives help before it installs anything: %s', async (language) => {
    const stdout = `${optionTexts[language].help}\n`;
    expect(demo('--help', '--lang', language)).toEqual({ status: 0, stdout, stderr: '' });
    expect((await readdir(clone)).sort()).toEqual(NEEDED);
  });

  it('refuses a wrong option before it installs anything', async () => {
    const stderr = 'unknown option --stok; --help lists the options\n';
    expect(demo('--stok', '5')).toEqual({ status: 2, stdout: '', stderr });
    expect((await readdir(clone)).sort()).toEqual(NEEDED);
  });
});

describe('the packages of the demo', () => {
  /** No file of ours imports them. */
  const LOADED_BY_NEST = ['@nestjs/platform-express', 'reflect-metadata'];
  /** The page's import map leads to it. */
  const OWN_BUNDLE = 'playground';
  const LIBRARY = /^nestjs-redis-lock(?:\/(.+))?$/;

  /** All that a file imports when it runs, types left out. */
  async function importsOf(file: URL): Promise<string[]> {
    const code = await readFile(compiled(file), 'utf8');
    return ts.preProcessFile(code, true, true).importedFiles.map(({ fileName }) => fileName);
  }

  /** The packages that the files import, and the files that they import. */
  async function packagesOf(files: URL[]): Promise<Set<string>> {
    const packages = new Set<string>();
    const seen = new Set(files.map(({ href }) => href));
    for (const href of seen) {
      const file = new URL(href);
      for (const name of await importsOf(file)) {
        const entry = LIBRARY.exec(name);
        if (name.startsWith('.')) seen.add(sourceOf(new URL(name, file)));
        else if (entry)
          seen.add(new URL(`libs/redis-lock/src/${entry[1] ?? 'index'}.ts`, HERE).href);
        else if (!name.startsWith('node:') && name !== OWN_BUNDLE) packages.add(packageOf(name));
      }
    }
    return packages;
  }
  const HERE = pathToFileURL(ROOT);
  const sourceOf = ({ href }: URL) => href.replace(/\.js$/, '.ts');
  const packageOf = (name: string) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name;

  it('are the dependencies, without a dev dependency', async () => {
    await compile(['apps', 'libs', 'scripts']);
    const sources = await readdir(new URL('apps/seckill-demo/src/', HERE), { recursive: true });
    const files = sources.filter((name) => /(?<!\.d)\.ts$|\.mjs$/.test(name));
    const packages = await packagesOf([
      new URL('scripts/demo.mjs', HERE),
      ...files.map((name) => new URL(`apps/seckill-demo/src/${name}`, HERE)),
    ]);
    const { dependencies } = await readJson<{ dependencies: object }>('package.json');
    expect([...packages, ...LOADED_BY_NEST].sort()).toEqual(Object.keys(dependencies).sort());
  });

  it('are less than a fifth of all', async () => {
    type Locked = { packages: Record<string, { dev?: boolean }> };
    const all = Object.values((await readJson<Locked>('package-lock.json')).packages);
    expect(all.filter(({ dev }) => !dev).length).toBeLessThan(all.length / 5);
  });

  async function readJson<T>(name: string): Promise<T> {
    return JSON.parse(await readFile(join(ROOT, name), 'utf8')) as T;
  }
});
