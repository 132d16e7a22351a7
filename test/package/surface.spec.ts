import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entries, LIBRARY, manifest } from '../../scripts/library/surface.mjs';
import { pageOf } from '../support/proofs.js';

const SOURCES = join(LIBRARY, 'src');
const { now, due } = manifest();
const peers = Object.keys(now.peerDependencies as object);
const optional = Object.keys(now.peerDependenciesMeta as object);

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
    expect([...optional].sort()).toEqual([...peers].sort());
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
});
