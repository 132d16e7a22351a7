import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { entries, LIBRARY, manifest } from '../../scripts/library/surface.mjs';
import { useRealRedis } from '../support/set-up.js';

const packed = JSON.parse(String(process.env.LIBRARY_FILES)) as string[];
const sources = readdirSync(join(LIBRARY, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => statSync(join(LIBRARY, 'src', path)).isFile());

/** The library's own code has names like these, and what serves its tests must not. */
const SOURCE = /^([a-z0-9-]+\/)*[a-z0-9-]+(\.[a-z]+)?\.ts$/;
const OF_TESTS = /(^|[/.-])(spec|test|tests|fixtures?|mocks?|bench|contract|suite)([/.-]|$)/;
const FORMATS = ['esm', 'cjs'] as const;

/** The chunks that entries share; metrics and traces have no types in common. */
const CHUNKS = [
  'api',
  'connection',
  'core',
  'family',
  'ioredis',
  'nest',
  'node-redis',
  'primitives',
];
const { version, peerDependencies } = manifest().now as {
  version: string;
  peerDependencies: object;
};
const peers = Object.keys(peerDependencies);
const PROGRAMS = [...entries(), ...[...CHUNKS, 'lock-telemetry'].map((name) => `chunks/${name}`)];
const TYPES = [...entries(), ...CHUNKS.map((name) => `chunks/${name}`)];
const PAGES = ['CHANGELOG.md', 'LICENSE', 'README.md', 'README.zh-CN.md', 'docs/errors.md'];

/** The other entries export what is in chunks, and need no map. */
const hasCode = (path: string) => !/^\w+\/(core|index|node-redis)\.js$/.test(path);

const textOf = (path: string) => readFileSync(join(LIBRARY, path), 'utf8');
/** Runs ES module code as an application that is linked to the package. */
const run = (code: string): unknown =>
  JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', code], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    }),
  );
const moduleOf = (format: string, entry: string) =>
  pathToFileURL(join(LIBRARY, 'dist', format, `${entry}.js`)).href;
const sourcesOf = (map: string) => {
  const { sources: paths } = JSON.parse(textOf(map)) as { sources: string[] };
  return paths.map((path) => posix.join(posix.dirname(map), path).replace(/^src\//, ''));
};

describe('the packed library', () => {
  const own = sources.filter((path) => SOURCE.test(path) && !OF_TESTS.test(path));

  it('has a file for each entry and each room that entries share, and few pages', () => {
    const programs = [
      ...FORMATS.flatMap((format) => PROGRAMS.map((name) => `${format}/${name}.js`)),
    ];
    const types = FORMATS.flatMap((format) => TYPES.map((name) => `${format}/${name}.d.ts`));
    const made = [...programs, 'esm/cli/main.js'];
    const maps = made.filter(hasCode).map((path) => `${path}.map`);
    const dist = [...made, ...maps, ...types, 'cjs/package.json'].map((path) => `dist/${path}`);
    expect([...packed].sort()).toEqual([...dist, ...PAGES, 'package.json'].sort());
  });

  it('has sources that are its own, or specs', () => {
    expect(sources.filter((path) => !own.includes(path) && !path.endsWith('.spec.ts'))).toEqual([]);
  });

  it('has pages whose links lead to files that are in it too', () => {
    const broken = packed
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) =>
        [...textOf(page).matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)]
          .map(([, target = '']) => posix.join(posix.dirname(page), target))
          .filter((target) => !packed.includes(target)),
      );
    expect(broken).toEqual([]);
  });

  it('has no path of this machine in it, and maps that name its sources alone', () => {
    const telling = packed.filter((path) => /\.(js|d\.ts|map)$/.test(path));
    const places = ['file://', LIBRARY, JSON.stringify(LIBRARY).slice(1, -1)];
    const tells = (path: string) => places.some((place) => textOf(path).includes(place));
    expect(telling.filter(tells)).toEqual([]);
    const maps = packed.filter((path) => path.endsWith('.map'));
    const mapped = maps.flatMap(sourcesOf);
    expect(mapped.filter((path) => !own.includes(path))).toEqual([]);
    expect(mapped.length).toBeGreaterThan(own.length);
    // A map with names would rename functions in stack traces.
    expect(maps.filter((path) => !textOf(path).includes('"names":[],'))).toEqual([]);
  });
});

/** The packages that a file loads, by whatever chunks. */
function packagesOf(file: string): string[] {
  const files = new Set([`dist/${file}`]);
  const packages = new Set<string>();
  for (const path of files) {
    const ending = path.endsWith('.d.ts') ? '.d.ts' : '.js';
    for (const [, name = ''] of textOf(path).matchAll(IMPORT)) {
      if (!name.startsWith('.')) packages.add(name);
      else files.add(posix.join(posix.dirname(path), name.replace(/\.js$/, ending)));
    }
  }
  return [...packages].filter((name) => !isBuiltin(name)).sort();
}

const IMPORT = /^(?:(?:import|export) .*from |const \S+ = require\()'([^']+)'\)?;$/gm;
const RENAMED = /\bclass \w+\$\d|^(?:async )?function \w+\$\d.*?^\}/gms;

const LOADED = {
  index: ['@nestjs/common', '@nestjs/core', 'rxjs'],
  core: [],
  'node-redis': [],
  otel: ['@opentelemetry/api'],
  prometheus: ['prom-client'],
  swagger: ['@nestjs/common', '@nestjs/core', '@nestjs/swagger', 'rxjs'],
  terminus: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus', 'rxjs'],
  testing: ['@nestjs/common', '@nestjs/core', 'rxjs'],
  throttler: ['@nestjs/common', '@nestjs/core', 'rxjs'],
};
const TYPED = {
  ...LOADED,
  index: ['@nestjs/common', '@nestjs/core', 'ioredis', 'rxjs'],
  core: ['ioredis'],
  swagger: ['@nestjs/common', '@nestjs/core', 'ioredis', 'rxjs'],
  terminus: ['@nestjs/terminus', 'ioredis'],
  testing: ['@nestjs/common', '@nestjs/core', 'ioredis', 'rxjs'],
  throttler: ['@nestjs/common', '@nestjs/throttler'],
};

describe('an entry of the packed library', () => {
  const namesIn = (path: string) =>
    [...textOf(`dist/${path}`).matchAll(/^export \{ (.*) \}/gm)]
      .flatMap(([, list = '']) => list.split(', '))
      .filter((name) => !name.startsWith('type '));

  it.each(entries())('has the values that its types promise: %s', (entry) => {
    const promised = namesIn(`esm/${entry}.d.ts`);
    expect(promised.length).toBeGreaterThan(0);
    expect(namesIn(`esm/${entry}.js`).sort()).toEqual(promised.sort());
  });

  it('has the same values in both formats, each class and function under its name', () => {
    const urls = entries().map((entry) => FORMATS.map((format) => moduleOf(format, entry)));
    const code = `
      const isOwn = ([name]) => !['default', 'module.exports', '__esModule'].includes(name);
      const namesOf = async (url) => Object.entries(await import(url)).filter(isOwn)
        .map(([name, { name: own = name }]) => [name, own]).sort();
      const pairs = ${JSON.stringify(urls)}.map((pair) => Promise.all(pair.map(namesOf)));
      console.log(JSON.stringify(await Promise.all(pairs)));`;
    const names = run(code) as [string, string][][][];
    expect(names.map(([esm]) => esm)).toEqual(names.map(([, cjs]) => cjs));
    expect(names.flat(2).filter(([name, own]) => !['', name].includes(own))).toEqual([]);
    expect(names.map(([esm]) => esm?.length)).not.toContain(0);
  });

  it('has classes, and functions that throw, under the names of the sources', () => {
    const renamed = packed
      .filter((path) => path.endsWith('.js'))
      .flatMap((path) => textOf(path).match(RENAMED) ?? []);
    expect(renamed.filter((code) => /\b(class|throw)\b/.test(code))).toEqual([]);
  });

  it.each([
    ['js', LOADED],
    ['d.ts', TYPED],
  ])('needs peers alone, and none of another entry: *.%s', (ending, due) => {
    expect(peers).toEqual(expect.arrayContaining(Object.values(due).flat()));
    for (const format of FORMATS) {
      const needed = entries().map((entry) => [entry, packagesOf(`${format}/${entry}.${ending}`)]);
      expect(Object.fromEntries(needed)).toEqual(due);
    }
  });
});

/** Calls that fail, with the module of a format. */
const failing = (format: string, isMapped: boolean, url: string) => `
  process.setSourceMapsEnabled(${String(isMapped)});
  const { openLocks } = await import(${JSON.stringify(moduleOf(format, 'core'))});
  const locks = openLocks({ connection: '${url}', nesting: 'refuse' });
  let [stack, help] = [];
  try {
    locks.lock.get('');
  } catch (error) {
    ({ stack, help } = error);
  }
  const inner = () => locks.lock.acquire('a').catch((error) => error);
  const outer = () => locks.lock.using('a', () => inner());
  const { acquiredAt, calledAt } = await outer();
  await locks.close();
  console.log(JSON.stringify({ help, stack, acquiredAt, calledAt }));`;

describe.each(FORMATS)('an error of the packed library as %s', (format) => {
  const redis = useRealRedis();
  const errorOf = (isMapped: boolean) =>
    run(failing(format, isMapped, redis.url)) as Record<
      'help' | 'stack' | 'acquiredAt' | 'calledAt',
      string
    >;

  it('names classes, methods, the call sites of the application, and the page of its version', () => {
    const { help, stack, ...sites } = errorOf(false);
    expect(help).toBe(`https://unpkg.com/nestjs-redis-lock@${version}/docs/errors.md#lock_key`);
    const [message, thrown, caller] = stack.split('\n');
    expect(message).toBe('LockKeyError: A lock name must not be empty');
    expect(thrown).toMatch(`at KeySpace.key (`);
    expect(thrown).toMatch(new RegExp(`dist/${format}/chunks/core\\.js:\\d+:\\d+\\)$`));
    expect(caller).toMatch('at LockService.get (');
    const at = (name: string) => expect.stringMatching(`^at ${name} \\(file:///.*\\[eval1\\]:`);
    expect(sites).toEqual({ acquiredAt: at('outer'), calledAt: at('inner') });
  });

  it('has the lines of the sources where source maps are enabled', () => {
    const { help: _, stack, ...sites } = errorOf(true);
    const places = [...stack.matchAll(/src\/(core\/.*\.ts):(\d+):\d+\)$/gm)].map(
      ([, file, line]) => textOf(`src/${String(file)}`).split('\n')[Number(line) - 1],
    );
    expect(places).toEqual([
      expect.stringContaining("throw new LockKeyError('A lock name must not be empty'"),
      expect.stringContaining('const id = [this.context.keys.key(name)'),
    ]);
    const at = (name: string) => expect.stringMatching(`^at ${name} \\(file:///.*\\[eval1\\]:`);
    expect(sites).toEqual({ acquiredAt: at('outer'), calledAt: at('inner') });
  });
});
