import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { writeBundle } from '../../../scripts/arena/bundle.mjs';
import { compiled } from '../../../scripts/compile.mjs';
import { addressOf, pageFiles } from '../../../apps/seckill-demo/src/web/page-files.js';
import {
  PAGE_ENTRY,
  PAGE_IMPORTS,
  pageHtml,
} from '../../../apps/seckill-demo/src/page/page-html.js';

const SOURCES = resolve(import.meta.dirname, '../../../apps/seckill-demo/src');
const COMPILED = dirname(
  compiled(new URL('../../../apps/seckill-demo/src/demo.ts', import.meta.url)),
);

function sourceOf(module: string): string {
  const typescript = module.replace(/\.js$/, '.ts');
  return existsSync(typescript) ? typescript : module;
}

/** Imports of values, and not only of types. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const imports = text.matchAll(
    /^(?:import |(?:import|export)(?! type) [^'";]*? from )'([^']+)';$|\bimport\('([^']+)'\)/gm,
  );
  return [...imports].flatMap(([, fixed, dynamic]) => fixed ?? dynamic ?? []);
}

function loadedModules(): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const load = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('.')) load(sourceOf(resolve(dirname(file), specifier)));
      else packages.add(specifier);
    }
  };
  load(resolve(SOURCES, 'page/main.ts'));
  return { files, packages };
}

describe('the modules that the page loads', () => {
  const { files, packages } = loadedModules();

  it('need nothing but lit, uPlot and the bundle of the playground', () => {
    expect([...packages].sort()).toEqual(['lit', 'lit/decorators.js', 'playground', 'uplot']);
  });

  it('are the files that the server serves, and an export contains', async () => {
    const served = [...(await pageFiles(COMPILED)).values()];
    const names = served
      .filter((file) => file.startsWith(COMPILED))
      .map((file) => relative(COMPILED, file));
    const loaded = [...files].map((file) => relative(SOURCES, file).replace(/\.ts$/, '.js'));
    expect(names.sort()).toEqual([...loaded, 'playground/bundle.js'].sort());
    expect(served.length).toBeGreaterThan(names.length);
  });

  it('have the licences of their packages beside them in an export', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'export-'));
    await writeBundle(PAGE_ENTRY, await pageFiles(COMPILED), addressOf, folder);
    const licences = readFileSync(join(folder, 'LICENSES.txt'), 'utf8');
    rmSync(folder, { recursive: true });
    for (const name of ['lit', 'lit-html', 'lit-element', '@lit/reactive-element', 'uplot']) {
      const text = readFileSync(resolve(SOURCES, '../../../node_modules', name, 'LICENSE'), 'utf8');
      expect(licences).toContain(`${name}\n\n${text}`);
    }
  });
});

describe('the document', () => {
  it('finds all beside itself, in whatever folder it lies', () => {
    const addresses = Object.values(PAGE_IMPORTS);
    expect(addresses.filter((address) => !/^\.\/(app|modules)\//.test(address))).toEqual([]);
    expect(pageHtml()).toContain(JSON.stringify({ imports: PAGE_IMPORTS }));
    expect(pageHtml()).not.toMatch(/(src|href)="\//);
  });

  it('can name a recorded run and the docs', () => {
    expect(pageHtml()).toContain('<html lang="en">');
    const html = pageHtml({ run: 'run.ndjson', docs: '../' });
    expect(html).toContain('<html lang="en" data-run="run.ndjson" data-docs="../">');
  });
});
