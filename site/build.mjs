// Builds the site into dist/site: the pages of the repository, the API, and the replay of the arena.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStep, StepError } from '../scripts/run-step.mjs';
import { API, finishApi } from './api.mjs';
import { brokenLinksIn } from './broken-links.mjs';
import { drawDiagrams } from './diagrams.mjs';
import { writeTextsForModels } from './llms.mjs';
import { markdownOf } from './markdown.mjs';
import { findPages } from './pages.mjs';
import { BASE } from './settings.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = join(ROOT, 'dist/site-pages');
const SITE = join(ROOT, 'dist/site');
const TYPEDOC = [
  ...['--options', 'libs/redis-lock/typedoc.json', '--plugin', 'typedoc-plugin-markdown'],
  ...['--plugin', './site/throws.mjs', '--excludeExternals'],
  ...['--preservedTypeAnnotationTags', '@throws', '--sort', 'source-order'],
  ...['--out', API, '--entryFileName', 'index', '--hidePageHeader', '--hideBreadcrumbs'],
  ...['--useCodeBlocks', '--parametersFormat', 'table', '--hideGroupHeadings'],
];

/**
 * @param {string} label
 * @param {string} script
 * @param {string[]} args
 */
const step = (label, script, ...args) =>
  runStep(label, process.execPath, [script, ...args], { cwd: ROOT });

try {
  await build();
  console.log(`The site is in ${SITE}: "npm run docs:preview" shows it.`);
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}

async function build() {
  rmSync(PAGES, { recursive: true, force: true });
  const pages = writePages();
  await Promise.all([
    step('Reading the docstrings', 'node_modules/typedoc/bin/typedoc', ...TYPEDOC).then(finishApi),
    step('Writing the replay', 'scripts/arena/export.mjs', '--site'),
    drawDiagrams(pages),
  ]);
  await step('Building the pages', 'site/node_modules/vitepress/bin/vitepress.js', 'build', 'site');
  cpSync(join(ROOT, 'dist/arena'), join(SITE, 'arena'), { recursive: true });
  writeTextsForModels(pages, PAGES, SITE);
  const broken = brokenLinksIn(SITE, BASE);
  if (broken.length > 0) throw new StepError(`Broken links:\n${broken.join('\n')}`, 1);
}

function writePages() {
  const pages = findPages();
  for (const page of pages) {
    const file = join(PAGES, `${page.address.replace(/\/$/, '/index')}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, markdownOf(page, pages));
  }
  for (const pictures of ['apps/seckill-demo/pictures', 'bench/pictures'])
    cpSync(join(ROOT, pictures), join(PAGES, 'public/files', pictures), { recursive: true });
  return pages;
}
