// The texts for language models: each page as Markdown, their list, and all of them in one file.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, apiGroups } from './api.mjs';
import { sentenceOf } from './markdown.mjs';
import { sectionsOf } from './pages.mjs';
import { BASE } from './settings.mjs';

/** Long lists, which only the list of pages names. */
const NOT_IN_FULL = ['changelog'];

/**
 * @param {import('./pages.mjs').Page[]} pages
 * @param {string} sources
 * @param {string} site
 */
export function writeTextsForModels(pages, sources, site) {
  const fileOf = (/** @type {string} */ address) =>
    `${address.slice(1).replace(/(^|\/)$/, '$1index')}.md`;
  for (const { address } of pages)
    cpSync(join(sources, fileOf(address)), join(site, fileOf(address)));

  const home = pages.find(({ address }) => address === '/');
  const head = `# ${home?.title}\n\n> ${sentenceOf(home?.text ?? '')}\n`;
  const sections = sectionsOf(pages, 'en');
  const lists = sections.map(({ title, pages: listed }) => {
    const lines = listed.map(({ title: name, address, text }) => {
      const sentence = sentenceOf(text);
      return `- [${name}](${BASE}${fileOf(address)})${sentence && `: ${sentence}`}`;
    });
    return `## ${title}\n\n${lines.join('\n')}\n`;
  });
  cpSync(API, join(site, 'api'), { recursive: true });
  const api = apiGroups('en').flatMap((group) =>
    group.pages.map(({ name, address, sentence }) => {
      return `- [${name}](${BASE}${fileOf(address)}): ${sentence}`;
    }),
  );
  writeFileSync(
    join(site, 'llms.txt'),
    [head, ...lists, `## API\n\n${api.join('\n')}\n`].join('\n'),
  );

  const full = sections
    .flatMap((section) => section.pages)
    .filter(({ name }) => !NOT_IN_FULL.includes(name));
  const texts = full.map(({ address }) => readFileSync(join(sources, fileOf(address)), 'utf8'));
  writeFileSync(join(site, 'llms-full.txt'), [head, ...texts.map(withoutMatter)].join('\n\n'));
}

/** @param {string} text */
const withoutMatter = (text) => text.replace(/^---\n.*?\n---\n\n/s, '');
