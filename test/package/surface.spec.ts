import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { entries, LIBRARY, manifest } from '../../scripts/library/surface.mjs';
import { pageOf } from '../support/proofs.js';

const SOURCES = join(LIBRARY, 'src');
const { now, due } = manifest();
const peers = Object.keys(now.peerDependencies as object);
const optional = Object.keys(now.peerDependenciesMeta as object);

/** The imports of a source: files of the library by their path, packages by their name. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const named = [...text.matchAll(/(?:^|\s)(?:from|import) '([^']+)'|import\('([^']+)'\)/g)];
  return named.map(([, first, second]) => {
    const name = first ?? second ?? '';
    if (name.startsWith('.')) return join(dirname(file), name.replace(/\.js$/, '.ts'));
    return name.split('/', name.startsWith('@') ? 2 : 1).join('/');
  });
}

/** The packages that an entry needs, whatever files are between. */
function packagesOf(entry: string): string[] {
  const files = new Set([join(SOURCES, `${entry}.ts`)]);
  const packages = new Set<string>();
  for (const file of files) {
    for (const name of importsOf(file)) {
      if (name.startsWith(SOURCES)) files.add(name);
      else if (!isBuiltin(name)) packages.add(name);
    }
  }
  return [...packages].sort();
}

describe('package.json of the library', () => {
  it('has each entry and the command, as npm run api writes them', () => {
    expect(now).toEqual(due);
    const exported = Object.keys(now.exports as object);
    const subpaths = entries().map((name) => (name === 'index' ? '.' : `./${name}`));
    expect(exported).toEqual([...subpaths, './package.json']);
  });

  it('has a reviewed report of each entry', () => {
    const reports = readdirSync(join(LIBRARY, 'api')).map((file) => file.replace(/\.api\.md$/, ''));
    expect(reports.sort()).toEqual(entries().sort());
  });

  it('depends on nothing but peers', () => {
    expect(Object.keys(now)).not.toContain('dependencies');
    expect(Object.keys(now)).not.toContain('optionalDependencies');
    expect(optional.filter((name) => !peers.includes(name))).toEqual([]);
  });

  it('promises the same oldest ioredis on every page', () => {
    const [oldest] =
      /(?<=\^)5[\d.]+/.exec((now.peerDependencies as Record<string, string>).ioredis ?? '') ?? [];
    for (const page of ['README.md', 'README.zh-CN.md', 'docs/comparison.md']) {
      const [said] = /(?<=ioredis[ |]+)5[\d.]+/.exec(pageOf(page)) ?? [];
      expect([page, said]).toEqual([page, oldest]);
    }
  });

  it('does nothing when it is loaded, as it tells bundlers', () => {
    expect(now.sideEffects).toBe(false);
    const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
    const loading = sources
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => /^import '/m.test(readFileSync(join(SOURCES, file), 'utf8')));
    expect(loading).toEqual([]);
  });

  it('asks for no peer but the types of ioredis, at the root also for those of Nest, and for metrics for none of them', () => {
    expect(peers.filter((name) => !optional.includes(name))).toEqual([]);
    expect(packagesOf('core')).toEqual(['ioredis']);
    const ofNest = ['@nestjs/common', '@nestjs/core', 'rxjs'];
    expect(packagesOf('index')).toEqual([...ofNest, 'ioredis'].sort());
    expect(packagesOf('prometheus')).toEqual(['prom-client']);
    expect(packagesOf('otel')).toEqual(['@opentelemetry/api']);
  });

  it.each(entries())('names as a peer what its entry needs: %s', (entry) => {
    expect(packagesOf(entry).filter((name) => !peers.includes(name))).toEqual([]);
  });
});
