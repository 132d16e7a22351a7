// The pages that TypeDoc makes of the docstrings.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withMatter } from './markdown.mjs';

export const API = fileURLToPath(new URL('../dist/site-pages/api', import.meta.url));

/** The entries of the package, such as `core`, the main one first. */
export const entriesOf = () => {
  const folders = readdirSync(API, { withFileTypes: true }).filter((file) => file.isDirectory());
  const names = folders.map(({ name }) => name).filter((name) => name !== 'index');
  return ['index', ...names];
};

/**
 * The entry points of the package.
 * @param {string} entry
 */
export const importOf = (entry) =>
  entry === 'index' ? 'nestjs-redis-lock' : `nestjs-redis-lock/${entry}`;

/** TypeDoc names an entry by its file. */
export function finishApi() {
  for (const name of readdirSync(API, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.md')) continue;
    const file = join(API, name);
    const [entry = ''] = name.split(sep);
    const title = name === 'index.md' ? 'API' : importOf(entry);
    const text = readFileSync(file, 'utf8');
    const named = name.endsWith('index.md') ? text.replace(/^# .+$/m, `# ${title}`) : text;
    writeFileSync(file, withMatter({ i18nRouting: false }, named));
  }
}

/** For each entry its exports. */
export function apiSidebar() {
  return entriesOf().map((entry) => {
    const files = readdirSync(join(API, entry), { recursive: true, encoding: 'utf8' });
    const pages = files.filter((file) => file.endsWith('.md') && file !== 'index.md');
    const items = pages.map((file) => {
      const path = file.replace(/\.md$/, '').split(sep);
      return { text: path.at(-1) ?? '', link: `/api/${entry}/${path.join('/')}` };
    });
    return {
      text: importOf(entry),
      link: `/api/${entry}/`,
      collapsed: entry !== 'index',
      items: items.toSorted((one, other) => one.text.localeCompare(other.text)),
    };
  });
}
