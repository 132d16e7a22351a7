// A page of the repository, as VitePress takes it: with links of the site.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageIn } from './pages.mjs';
import { REPOSITORY } from './settings.mjs';

/** @typedef {import('./pages.mjs').Page} Page */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const WORDS = {
  en: {
    start: 'Quick start',
    method: 'Lock a method',
    watch: 'Watch the flash sale',
    replay: 'plays a recorded run in your browser.',
  },
  zh: {
    start: '快速开始',
    method: '给方法加锁',
    watch: '观看秒杀',
    replay: '在浏览器里重放一次录制的运行。',
  },
};

/**
 * @param {Page} page
 * @param {Page[]} pages
 */
export function markdownOf(page, pages) {
  const linked = withLinks(page.text, page.file, pages);
  const text = linked.replace(LANGUAGE_LINK, '').replace(PAIR_OF_PICTURES, pairOfTheSite);
  const matter = {
    ...(!page.hasPair && { i18nRouting: false }),
    ...(page.isInternal && { search: false }),
    ...(page.name !== 'index' && { description: sentenceOf(page.text) }),
  };
  if (page.name === 'index') return homeOf(text, page, pages);
  return withMatter(matter, page.name === 'flash-sale' ? withReplay(text, page) : text);
}

/** The line that leads to the page in the other language. The site has a menu for it. */
const LANGUAGE_LINK = /(?<=^(?:# .+\n\n)?)\[(?:English|简体中文|中文)\]\([^)]*\)\n\n/;

/** A reader of the site chooses between light and dark on the site. */
const PAIR_OF_PICTURES =
  /<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(.+?)" \/>\s*<img src="(.+?)" (.+?) \/>\s*<\/picture>/g;

/**
 * @param {string} _pair
 * @param {string} dark
 * @param {string} light
 * @param {string} rest
 */
function pairOfTheSite(_pair, dark, light, rest) {
  const drawing = readFileSync(join(ROOT, light.replace('/files/', '')), 'utf8');
  return `<p>${pairOfPictures(light, dark, rest, drawing)}</p>`;
}

/**
 * With their shape, so that the page does not move when they arrive.
 * @param {string} light
 * @param {string} dark
 * @param {string} rest
 * @param {string} drawing one of them
 */
export function pairOfPictures(light, dark, rest, drawing) {
  const [, width, height] = /viewBox="\S+ \S+ ([\d.]+) ([\d.]+)"/.exec(drawing) ?? [];
  const style = `style="aspect-ratio: ${width} / ${height}"`;
  const picture = (/** @type {string} */ theme, /** @type {string} */ address) =>
    `<img class="in-${theme}" loading="lazy" src="${address}" ${rest} ${style} />`;
  return picture('light', light) + picture('dark', dark);
}

/**
 * @param {object} matter
 * @param {string} text
 */
export function withMatter(matter, text) {
  return Object.keys(matter).length === 0 ? text : `---\n${JSON.stringify(matter)}\n---\n\n${text}`;
}

/** Blocks of code, which have no links. */
const CODE = /(^ *```.*?^ *```$)/gms;
/** A link, or a span of code, which has none. */
const LINK = /`[^`\n]+`|(!?)\[((?:`[^`]*`|[^\][])*)\]\((?![a-z]+:)([^)\s]+)\)/g;
const PICTURE = / (src|srcset)="(?![a-z]+:)([^"]+)"/g;

/**
 * @param {string} text
 * @param {string} file
 * @param {Page[]} pages
 */
export function withLinks(text, file, pages) {
  const resolve = (/** @type {string} */ path) => posix.join(posix.dirname(file), path);
  const prose = (/** @type {string} */ part) =>
    part
      .replace(PICTURE, (_, name, path) => ` ${name}="/files/${resolve(path)}"`)
      .replace(LINK, (link, picture, shown, target) => {
        const [path, anchor] = target?.split('#') ?? [''];
        if (path === '') return link;
        if (picture) return `![${shown}](/files/${resolve(path)})`;
        const address = addressOf(resolve(path), pages);
        if (address === undefined) return shown;
        return `[${shown}](${address}${anchor === undefined ? '' : `#${anchor}`})`;
      });
  return text
    .split(CODE)
    .map((part) => (part.trimStart().startsWith('```') ? part : prose(part)))
    .join('');
}

/**
 * @param {string} file
 * @param {Page[]} pages
 */
function addressOf(file, pages) {
  const page = pages.find((one) => [file, posix.join(file, 'README.md')].includes(one.file));
  if (page !== undefined) return page.address;
  if (!existsSync(join(ROOT, file))) throw new Error(`${file} is linked, and does not exist`);
  if (REPOSITORY === '') return undefined;
  const kind = statSync(join(ROOT, file)).isDirectory() ? 'tree' : 'blob';
  return `${REPOSITORY}/${kind}/main/${file}`;
}

/**
 * The anchor of a heading, as GitHub makes it.
 * @param {string} heading
 */
export function anchorOf(heading) {
  const letters = heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '');
  return letters.replaceAll(' ', '-');
}

/**
 * The README with its title and its first paragraph as the head of the page.
 * @param {string} text
 * @param {Page} page
 * @param {Page[]} pages
 */
function homeOf(text, page, pages) {
  const [head = '', title = '', tagline = ''] = /^\s*# (.+)\n+((?:.+\n)+)/.exec(text) ?? [];
  const words = WORDS[page.language];
  const linkTo = (/** @type {string} */ name) => pageIn(pages, name, page.language)?.address;
  const hero = {
    name: title,
    tagline: plain(tagline),
    actions: [
      { theme: 'brand', text: words.start, link: linkTo('quick-start') },
      { theme: 'alt', text: words.method, link: linkTo('lock-a-method') },
      { theme: 'alt', text: words.watch, link: replayOf(page), target: '_self' },
    ],
  };
  return withMatter({ layout: 'home', titleTemplate: false, hero }, text.slice(head.length));
}

/**
 * @param {string} text
 * @param {Page} page
 */
function withReplay(text, page) {
  const { watch, replay } = WORDS[page.language];
  const space = page.language === 'zh' ? '：' : ' ';
  const line = `**[${watch}](${replayOf(page)}){target="_self"}**${space}${replay}`;
  return text.replace(/^# .+\n\n/m, (title) => `${title}${line}\n\n`);
}

/** @param {Page} page */
function replayOf({ language }) {
  return `/arena/?lang=${language}`;
}

/**
 * Without the marks of Markdown.
 * @param {string} text
 */
export function plain(text) {
  const shown = text
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`_]{1,2}(\S[^*`]*?)[*`_]{1,2}/g, '$1');
  return shown.replace(/\s+/g, ' ').trim();
}

/**
 * The first sentence below the title.
 * @param {string} text
 */
export function sentenceOf(text) {
  const below = text.split(/^# .+$/m)[1] ?? '';
  const paragraphs = below.split(/\n{2,}/).map((paragraph) => paragraph.trim());
  const prose = plain(paragraphs.find((one) => /^(?!```)[\p{L}`*]/u.test(one)) ?? '');
  return prose.replace(/(?<=\.) .*$|(?<=。).*$/s, '');
}
