import { afterAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RedisLockModule } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The Chinese pages have the same code, which pages.spec.ts holds. */
const DOCS = readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
  .filter((page) => page.endsWith('.md') && !page.endsWith('.zh-CN.md'))
  .map((page) => `docs/${page}`);
const PAGES = ['README.md', ...DOCS];
/** Pages that only list what is elsewhere. */
const LISTS = ['comparison', 'guarantees', 'performance', 'scaling'];

/** The TypeScript of a page, each block as a file of its own beside those that specs run, with its line in the page. */
function snippetsOf(page: string): [file: string, where: string, text: string][] {
  const text = readFileSync(`${ROOT}${page}`, 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((block) => {
    const line = text.slice(0, block.index).split('\n').length;
    return [
      `${ROOT}test/docs/examples/recipes/${page.replaceAll('/', '.')}.${line}.ts`,
      `${page}:${line}`,
      block[1] ?? '',
    ];
  });
}

/** The compiler with the settings of the project, which finds the snippets as if they were files. */
function compile(texts: ReadonlyMap<string, string>): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path);
    if (text === undefined) return getSourceFile(path, target, ...rest);
    return ts.createSourceFile(path, text, target);
  };
  return ts.createProgram([...texts.keys()], options, host);
}

/**
 * Specs of their own run these: what was written for other libraries, whole spec files, listeners of a
 * whole process, clients of no server, and what Jest cannot load, since it requires NestJS.
 */
function isRunElsewhere(where: string, text: string): boolean {
  return (
    /^docs\/(internals\/)?(migrating|recipes|topologies)/.test(where) ||
    /from '@(jest\/globals|nestjs\/throttler)'|\b(collectLockMetrics|instrumentLocks|subscribe)\(/.test(
      text,
    )
  );
}

/** Begins and ends an application of the classes that a page exports; what they lack is made up. */
async function start(exported: readonly Type[]): Promise<void> {
  const having = (key: string) => exported.filter((its) => Reflect.hasMetadata(key, its));
  const modules = having('imports');
  const controllers = having('path');
  const isWhole = modules.some(({ name }) => name === 'AppModule');
  const builder = Test.createTestingModule({
    imports: isWhole ? modules : [RedisLockModule.forRoot(), ...modules],
    controllers,
    providers: exported.filter((its) => ![...modules, ...controllers].includes(its)),
  });
  RedisLockTestingModule.replaceRedisIn(builder);
  const app = await builder.useMocker(() => ({})).compile();
  await app.init();
  await app.close();
}

const isClass = (value: unknown): value is Type => /^class\b/.test(String(value));

describe('the code in the docs', () => {
  const snippets = PAGES.flatMap(snippetsOf);
  const program = compile(new Map(snippets.map(([file, , text]) => [file, text])));

  it('is there in every page for users', () => {
    for (const page of PAGES) {
      if (/internals/.test(page) || LISTS.includes(page.replace(/^docs\/|\.md$/g, ''))) continue;
      expect([page, snippetsOf(page).length > 0]).toEqual([page, true]);
    }
  });

  it.each(snippets.map(([file, where]) => [where, file]))('compiles: %s', (_, file) => {
    const source = program.getSourceFile(file);
    const problems = ts.getPreEmitDiagnostics(program, source);
    expect(
      problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ).toEqual([]);
  });

  describe('runs', () => {
    const cache = `${ROOT}node_modules/.cache`;
    mkdirSync(cache, { recursive: true });
    const folder = mkdtempSync(`${cache}/snippets-`);
    afterAll(() => {
      rmSync(folder, { recursive: true });
    });
    const runnable = snippets.filter(([, where, text]) => !isRunElsewhere(where, text));

    it.each(runnable.map(([file, where]) => [where, file]))('%s', async (where, file) => {
      const path = join(folder, `${where.replace(/[/:]/g, '.')}.mjs`);
      const text = program.getSourceFile(file)?.text ?? '';
      const compilerOptions = { ...program.getCompilerOptions(), module: ts.ModuleKind.ESNext };
      writeFileSync(path, ts.transpileModule(text, { compilerOptions }).outputText);
      const exported = Object.values((await import(path)) as object);
      await start(exported.filter(isClass));
    });
  });
});

it('is in files that specs run, and all of these files are shown', () => {
  const examples = `${ROOT}test/docs/examples`;
  const files = readdirSync(examples, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath !== examples)
    .filter(({ parentPath }) => !parentPath.includes('generated'))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
  const inside = ['redisson', 'redlock', 'redis-semaphore', 'murlock'].map(
    (name) => `internals/${name === 'redisson' ? '' : 'migrating-'}from-${name}`,
  );
  const pages = ['recipes', 'from-redisson', 'migrating', ...inside];
  const shown = pages.flatMap((page) => {
    const text = readFileSync(`${ROOT}docs/${page}.md`, 'utf8');
    return [...text.matchAll(/^```(?:ts|yaml)\n(.*?)^```$/gms)].map(([, code]) => code);
  });
  expect(new Set(shown)).toEqual(new Set(files));
});

/** A new application of Nest has these. */
const OF_NEST = ['@nestjs/common', '@nestjs/core', 'rxjs'];

it('of each recipe needs no package beside those of its install line', () => {
  const sections = readFileSync(`${ROOT}docs/recipes.md`, 'utf8').split(/^##+ /m).slice(1);
  const missing = sections.flatMap((section) => {
    const [, line] = /^(npm install .+)$/m.exec(section) ?? [];
    if (line === undefined) return [];
    const installed = line.split(/\s+/);
    const imports = section.matchAll(/^(?:import|\}).* from '((?:@[^/']+\/)?[^/'.]+)[/']/gm);
    const needed = [...imports].map(([, name = '']) => name).filter((name) => !/^node:/.test(name));
    const typed = installed.filter((name) => existsSync(`${ROOT}node_modules/@types/${name}`));
    const all = [...needed, ...typed.map((name) => `@types/${name}`)];
    return all.filter((name) => ![...installed, ...OF_NEST].includes(name));
  });
  expect(missing).toEqual([]);
});
