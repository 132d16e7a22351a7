// The pages that TypeDoc makes of the docstrings, grouped by task.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GROUPS } from './api-groups.mjs';
import { plain, sentenceOf, withMatter } from './markdown.mjs';

/** @typedef {import('./pages.mjs').Language} Language */
/** @typedef {{ name: string, address: string, sentence: string }} ApiPage */

export const API = fileURLToPath(new URL('../dist/site-pages/api', import.meta.url));
const LISTS = fileURLToPath(new URL('../dist/site-pages/api.json', import.meta.url));

const WORDS = {
  en: { lead: 'All exports of the package, by task.', name: 'Name', meaning: 'Meaning' },
  zh: { lead: '包的全部导出，按任务分组。', name: '名称', meaning: '说明（英文）' },
};

/** Gives each page its title, its import and its description, and writes the lists of all. */
export function finishApi() {
  const files = readdirSync(API, { recursive: true, encoding: 'utf8' });
  const both = reExports();
  const pages = files
    .filter((file) => file.endsWith('.md') && basename(file) !== 'index.md')
    .map((file) => finishPage(file, both));
  for (const file of files.filter((one) => basename(one) === 'index.md')) rmSync(join(API, file));
  checkGroups(pages);
  writeFileSync(LISTS, JSON.stringify(pages));
  writeList('en', join(API, 'index.md'));
  writeList('zh', join(API, '../zh/api/index.md'));
}

/** The names of `core` that the main entry exports, too. */
function reExports() {
  const main = readFileSync(join(API, 'index/index.md'), 'utf8');
  return new Set([...main.matchAll(/^Re-exports \[(\w+)\]/gm)].map(([, name]) => name));
}

/**
 * @param {string} file
 * @param {Set<string | undefined>} both
 * @returns {ApiPage}
 */
function finishPage(file, both) {
  const path = join(API, file);
  const name = basename(file, '.md');
  const [entry = ''] = file.split(sep);
  const text = readFileSync(path, 'utf8');
  // Not the list behind a colon.
  const sentence = sentenceOf(text).replace(/: - .*$/, '.');
  if (sentence === '') throw new Error(`${name} has no docstring, so its page is empty`);
  const imports = [...(both.has(name) ? ['index'] : []), entry].map(
    (one) => `\`${importOf(one)}\``,
  );
  const [, kind = ''] = /^# (.+): /m.exec(text) ?? [];
  const title = `# ${name}\n\n${kind}, imported from ${imports.join(' or ')}.`;
  const titled = withListOfErrors(text).replace(/^# .+$/m, title);
  writeFileSync(path, withMatter({ i18nRouting: false, description: sentence }, titled));
  return { name, address: `/api/${file.replace(/\.md$/, '').replaceAll(sep, '/')}`, sentence };
}

/** @param {string} entry TypeDoc names an entry by its file */
function importOf(entry) {
  return entry === 'index' ? 'nestjs-redis-lock' : `nestjs-redis-lock/${entry}`;
}

/** @param {string} text with a heading for each error */
function withListOfErrors(text) {
  return text.replace(/(?:^#+ Throws\n\n(?:.+\n)+\n?)+/gm, (block) => {
    const [heading = ''] = block.split('\n');
    const errors = block.split(/^#+ Throws$/m).slice(1);
    return `${heading}\n\n${errors.map((one) => `- ${one.trim().replaceAll('\n', '\n  ')}`).join('\n')}\n\n`;
  });
}

/** @param {ApiPage[]} pages */
function checkGroups(pages) {
  const grouped = GROUPS.flatMap(({ names }) => names);
  const known = pages.map(({ name }) => name);
  const wrong = [
    ...known.filter((name) => !grouped.includes(name)).map((name) => `${name} is in no group`),
    ...grouped.filter((name) => !known.includes(name)).map((name) => `${name} is no export`),
    ...grouped.filter((name, at) => grouped.indexOf(name) < at).map((name) => `${name} is twice`),
  ];
  if (wrong.length > 0) throw new Error(`site/api-groups.mjs: ${wrong.join('; ')}`);
}

/**
 * The groups, each with its pages.
 * @param {Language} language
 */
export function apiGroups(language) {
  const pages = /** @type {ApiPage[]} */ (JSON.parse(readFileSync(LISTS, 'utf8')));
  return GROUPS.map((group) => ({
    title: group[language],
    pages: group.names.flatMap((name) => pages.filter((page) => page.name === name)),
  }));
}

/**
 * @param {Language} language
 * @param {string} file
 */
function writeList(language, file) {
  const words = WORDS[language];
  const tables = apiGroups(language).map(({ title, pages }) => {
    const rows = pages.map(
      ({ name, address, sentence }) =>
        `| [\`${name}\`](${address}) | ${sentence.replaceAll('|', '\\|').replaceAll('<', '&lt;')} |`,
    );
    return `## ${title}\n\n| ${words.name} | ${words.meaning} |\n| --- | --- |\n${rows.join('\n')}\n`;
  });
  const text = [`# API\n\n${words.lead}\n`, ...tables].join('\n');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, withMatter({ description: plain(words.lead) }, text));
}

/** @param {Language} language */
export function apiSidebar(language) {
  return apiGroups(language).map(({ title, pages }) => ({
    text: title,
    items: pages.map(({ name, address }) => ({ text: name, link: address })),
  }));
}
