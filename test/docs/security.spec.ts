import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { filesOf, isThere, pageOf, proofsIn } from '../support/proofs.js';

const SOURCES = 'libs/redis-lock/src';

describe('docs/internals/security.md', () => {
  const page = pageOf('docs/internals/security.md');
  const rows = [...page.matchAll(/^\| (\d+) +\|([^|]*)\|(.*)\|$/gm)].map(
    ([, number, point = '', tried = '']) => [Number(number), point.trim(), tried.trim()] as const,
  );
  const proofs = rows.flatMap(([number, point, tried]) =>
    tried.startsWith('— ') ? [] : proofsIn(tried).map((proof) => [number, point, proof] as const),
  );

  it('says of every point which spec tries it, or why none does', () => {
    expect(rows.map(([number]) => number)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    expect(rows.filter(([, , tried]) => tried.length < 20)).toEqual([]);
  });

  it.each(proofs)('e.%d %s', (_, __, proof) => {
    expect(filesOf(proof)).not.toEqual([]);
    expect({ ...proof, isThere: isThere(proof) }).toMatchObject({ isThere: true });
  });
});

describe('the Lua of the library', () => {
  const root = new URL(`../../${SOURCES}`, import.meta.url);
  const lines = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
    .flatMap((file) => pageOf(`${SOURCES}/${file}`).split('\n'));

  it('is made when its module is loaded, and never from what a caller says', () => {
    const made = lines.filter((line) => line.includes('defineScript('));
    expect(made.length).toBeGreaterThan(20);
    // In a function it could be of a name.
    expect(made.filter((line) => !/^(export )?const [A-Z_]+ = defineScript\(/.test(line))).toEqual(
      [],
    );
  });

  it('makes no further Lua', () => {
    expect(lines.filter((line) => /\b(loadstring|dofile|setfenv)\b|\bload\(/.test(line))).toEqual(
      [],
    );
  });
});

describe('force', () => {
  it('is used by nothing that Nest calls: no decorator, filter or option leads to it', () => {
    const root = new URL(`../../${SOURCES}/`, import.meta.url);
    const files = ['nest', 'integrations'].flatMap((folder) =>
      readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'))
        .map((file) => `${SOURCES}/${folder}/${file}`),
    );
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => /\.forceRelease\b/.test(pageOf(file)))).toEqual([]);
  });
});

describe('the package', () => {
  it('depends on nothing but its peers, and runs nothing when it is installed', () => {
    const manifest = JSON.parse(pageOf('libs/redis-lock/package.json')) as Record<string, unknown>;
    expect(manifest.dependencies).toBeUndefined();
    expect(manifest.optionalDependencies).toBeUndefined();
    expect(manifest.bundleDependencies).toBeUndefined();
    const scripts = Object.keys((manifest.scripts as object | undefined) ?? {});
    expect(scripts.filter((script) => /install|prepare/.test(script))).toEqual([]);
  });
});
