import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { LIBRARY } from '../../scripts/library/surface.mjs';

const packed = JSON.parse(String(process.env.LIBRARY_FILES)) as string[];
const sources = readdirSync(join(LIBRARY, 'src'), { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => statSync(join(LIBRARY, 'src', path)).isFile());
/** Without the page that names specs alone. */
const docs = readdirSync(new URL('../../docs/', import.meta.url)).filter(
  (page) => page !== 'conformance.md',
);

/** The library's own code has names like these, and what serves its tests must not. */
const SOURCE = /^([a-z0-9-]+\/)*[a-z0-9-]+(\.[a-z]+)?\.ts$/;
const OF_TESTS = /(^|[/.-])(spec|test|tests|fixtures?|mocks?|bench|contract|suite)([/.-]|$)/;

function outputsOf(source: string): string[] {
  const name = source.replace(/\.ts$/, '');
  const formats = name.startsWith('cli/') ? ['esm'] : ['esm', 'cjs'];
  return formats.flatMap((format) => [`dist/${format}/${name}.js`, `dist/${format}/${name}.d.ts`]);
}

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
    expect([...packed].sort()).toEqual(['package.json', ...pages, ...made].sort());
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
