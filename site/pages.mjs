// Which files are pages of the site, at which address, and in which order the sidebars list them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * @typedef {'en' | 'zh'} Language
 * @typedef {object} Page
 * @property {string} file such as `docs/lock.zh-CN.md`
 * @property {string} name `lock` or `internals/lock` in each language
 * @property {boolean} isInternal whether it is for those who change the library: no list and no search finds it
 * @property {Language} language
 * @property {string} address `/zh/lock`
 * @property {string} title
 * @property {string} text
 * @property {boolean} hasPair whether the other language has this page, too
 */

/** The pages outside of `docs`, those in Chinese beside them. */
const OUTSIDE = new Map(
  Object.entries({
    'README.md': 'index',
    'CONTRIBUTING.md': 'contributing',
    'SECURITY.md': 'report-a-vulnerability',
    'apps/seckill-demo/README.md': 'flash-sale',
    'bench/README.md': 'benchmark',
    'examples/README.md': 'examples',
    'libs/redis-lock/CHANGELOG.md': 'changelog',
  }),
);

/** By reader. The last section is in the menu at the top, with each page that no section names. */
const SECTIONS = [
  { ...{ en: 'Begin', zh: '入门' }, names: ['quick-start', 'how-a-lock-works'] },
  {
    ...{ en: 'By task', zh: '按任务' },
    names: [
      ...['set-up', 'lock-a-method', 'lock-by-hand', 'jobs', 'in-nest', 'recipes', 'testing'],
      ...['errors', 'troubleshooting'],
    ],
  },
  {
    ...{ en: 'Locks', zh: '各种锁' },
    names: [
      ...['lock', 'fair-lock', 'read-write-lock', 'semaphore', 'latch', 'multi-lock', 'fencing'],
    ],
  },
  {
    ...{ en: 'In production', zh: '生产环境' },
    names: ['observability', 'command-line', 'topologies', 'security', 'scaling'],
  },
  { ...{ en: 'To judge it', zh: '评估' }, names: ['guarantees', 'comparison', 'performance'] },
  { ...{ en: 'From other libraries', zh: '从其他库迁移' }, names: ['from-redisson', 'migrating'] },
  {
    ...{ en: 'More', zh: '更多' },
    names: ['examples', 'flash-sale', 'changelog', 'contributing', 'report-a-vulnerability'],
  },
];

/** @returns {Page[]} */
export function findPages() {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => name.replaceAll(sep, '/'));
  const outside = [...OUTSIDE.keys(), ...readmesOfExamples()];
  const files = [
    ...[...outside, ...outside.map((file) => file.replace(/\.md$/, '.zh-CN.md'))],
    ...docs.map((name) => `docs/${name}`),
  ];
  const pages = files.filter((file) => existsSync(join(ROOT, file))).map(readPage);
  const count = (/** @type {string} */ name) => pages.filter((page) => page.name === name).length;
  return pages.map((page) => ({ ...page, hasPair: count(page.name) === 2 }));
}

/**
 * A page in a language, or in English where that has none.
 * @param {Page[]} pages
 * @param {string} name
 * @param {Language} language
 */
export function pageIn(pages, name, language) {
  const named = pages.filter((page) => page.name === name);
  return named.find((page) => page.language === language) ?? named[0];
}

/**
 * The sections in which a language has its own page or an English one.
 * @param {Page[]} pages
 * @param {Language} language
 */
export function sectionsOf(pages, language) {
  const known = SECTIONS.flatMap(({ names }) => names);
  const rest = pages
    .filter(({ name, isInternal }) => !isInternal && !['index', ...known].includes(name))
    .map(({ name }) => name);
  return SECTIONS.map((section) => {
    const names = section === SECTIONS.at(-1) ? [...section.names, ...rest] : section.names;
    return {
      title: section[language],
      pages: names
        .map((name) => pageIn(pages, name, language))
        .filter((page) => page !== undefined),
    };
  });
}

function readmesOfExamples() {
  const folder = join(ROOT, 'examples');
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((name) => `examples/${name}/README.md`);
}

/**
 * @param {string} file
 * @returns {Omit<Page, 'hasPair'>}
 */
function readPage(file) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const language = file.endsWith('.zh-CN.md') ? 'zh' : 'en';
  const name = nameOf(file.replace('.zh-CN.md', '.md'));
  const isInternal = name.startsWith('internals/');
  const address = `/${language === 'zh' ? 'zh/' : ''}${name === 'index' ? '' : name}`;
  return { file, name, isInternal, language, address, title: titleOf(name, text), text };
}

/**
 * @param {string} name
 * @param {string} text
 */
function titleOf(name, text) {
  // Changesets writes the name of the package there.
  if (name === 'changelog') return 'Changelog';
  const [, title = name] = /^# (.+)$/m.exec(text) ?? [];
  return title.replaceAll('`', '');
}

/** @param {string} file */
function nameOf(file) {
  const [, example] = /^examples\/(.+)\/README\.md$/.exec(file) ?? [];
  if (example !== undefined) return `example-${example}`;
  return OUTSIDE.get(file) ?? file.replace(/^docs\/|\.md$/g, '');
}
