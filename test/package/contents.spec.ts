import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { entries, LIBRARY } from '../../scripts/library/surface.mjs';

const packed = JSON.parse(String(process.env.LIBRARY_FILES)) as string[];
const sources = readdirSync(join(LIBRARY, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => statSync(join(LIBRARY, 'src', path)).isFile());
const docs = readdirSync(new URL('../../docs/', import.meta.url)).filter((page) =>
  page.includes('.'),
);

/** The library's own code has names like these, and what serves its tests must not. */
const SOURCE = /^([a-z0-9-]+\/)*[a-z0-9-]+(\.[a-z]+)?\.ts$/;
const OF_TESTS = /(^|[/.-])(spec|test|tests|fixtures?|mocks?|bench|contract|suite)([/.-]|$)/;

function outputsOf(source: string): string[] {
  const name = source.replace(/\.ts$/, '');
  const formats = name.startsWith('cli/') ? ['esm'] : ['esm', 'cjs'];
  return formats.map((format) => `dist/${format}/${name}.js`);
}

const isTypes = (path: string) => path.endsWith('.d.ts');

describe('the packed library', () => {
  const own = sources.filter((path) => SOURCE.test(path) && !OF_TESTS.test(path));

  it('holds what was built of each source, the pages of the docs, and nothing else', () => {
    const pages = [
      'README.md',
      'README.zh-CN.md',
      'LICENSE',
      ...docs.map((page) => `docs/${page}`),
    ];
    const made = [...own.flatMap(outputsOf), 'dist/cjs/package.json'];
    expect(packed.filter((path) => !isTypes(path)).sort()).toEqual(
      ['package.json', ...pages, ...made].sort(),
    );
  });

  it('holds the types of each entry, and those that they import, in both formats', () => {
    const read = new Set(
      ['esm', 'cjs'].flatMap((format) => entries().map((name) => `dist/${format}/${name}.d.ts`)),
    );
    for (const path of read) {
      const text = readFileSync(join(LIBRARY, path), 'utf8');
      for (const [, target = ''] of text.matchAll(/['"](\.{1,2}\/[^'"]+)\.js['"]/g)) {
        read.add(posix.join(posix.dirname(path), `${target}.d.ts`));
      }
    }
    expect(packed.filter(isTypes).sort()).toEqual([...read].sort());
  });

  it('has sources that are its own, or specs', () => {
    expect(sources.filter((path) => !own.includes(path) && !path.endsWith('.spec.ts'))).toEqual([]);
  });

  it('has pages whose links lead to files that are in it too', () => {
    const broken = packed
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) => {
        const text = readFileSync(join(LIBRARY, page), 'utf8');
        return [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)]
          .map(([, target = '']) => posix.join(posix.dirname(page), target))
          .filter((target) => !packed.includes(target));
      });
    expect(broken).toEqual([]);
  });

  it('has no path of this machine in it, and no map to sources that are not in it', () => {
    const telling = packed
      .filter((path) => /\.(js|d\.ts)$/.test(path))
      .filter((path) =>
        /sourceMappingURL|file:\/\//.test(readFileSync(join(LIBRARY, path), 'utf8')),
      );
    expect(telling).toEqual([]);
  });
});
