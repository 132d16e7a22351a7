import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { posix } from 'node:path';
import { anchorOf } from '../../site/markdown.mjs';
import { pageOf } from '../support/proofs.js';

const ROOT = new URL('../../', import.meta.url);

const PAGES = [
  ...['lock', 'fair-lock', 'read-write-lock', 'semaphore', 'latch'],
  ...['multi-lock', 'fencing'],
];

/** Each page of a kind of lock contains these things; each pattern finds one of them. */
const TELLS = {
  'when not to use it': /\b(not to use|do not use|not for|when not|prefer the)\b/i,
  'what is in Redis': /^## .*\b(Redis|keys)\b/im,
  'its course, as a sequence diagram': /^```mermaid\nsequenceDiagram/m,
  'what a crash leaves':
    /^## After a crash|what a crash leaves|\*\*A crash\*\*|a process that dies/im,
  'what it costs': /^## .*cost|\bcosts? (what|in Redis|one script)|\| cost in Redis/im,
};

describe('the page of each kind of lock', () => {
  it.each(PAGES)('tells everything: %s', (name) => {
    const text = pageOf(`docs/${name}.md`);
    const missing = Object.entries(TELLS).filter(([, pattern]) => !pattern.test(text));
    expect(missing.map(([what]) => what)).toEqual([]);
  });

  it.each(['README.md', 'README.zh-CN.md'])('is named where %s helps to choose', (readme) => {
    const rows = pageOf(readme)
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .join('\n');
    expect(
      PAGES.filter((name) => !RegExp(`\\(docs/${name}(\\.zh-CN)?\\.md\\)`).test(rows)),
    ).toEqual([]);
  });
});

const DOCS = readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const isChinese = (page: string) => page.endsWith('.zh-CN.md');
const chineseOf = (page: string) => page.replace(/(?<!\.zh-CN)\.md$/, '.zh-CN.md');
const englishOf = (page: string) => page.replace('.zh-CN.md', '.md');
const EXAMPLES = readdirSync(new URL('examples', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => posix.join('examples', name));
/** These name what a reader runs. */
const PROJECT = ['CONTRIBUTING.md', 'SECURITY.md', '.github/PULL_REQUEST_TEMPLATE.md'];
const ALL = [
  'README.md',
  'README.zh-CN.md',
  'apps/seckill-demo/README.md',
  'apps/seckill-demo/README.zh-CN.md',
  'libs/redis-lock/.changeset/README.md',
  ...EXAMPLES,
  ...PROJECT,
  ...DOCS,
];

/** Without what stands in blocks of code. */
const proseOf = (text: string) => text.replace(/^```.*?^```$/gms, '');
const linksIn = (text: string) =>
  [...proseOf(text).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target = '']) => target);

const picturesIn = (text: string) =>
  [...text.matchAll(/ (?:src|srcset)="([^"]+)"/g)].map(([, target = '']) => target);

const anchorsOf = (text: string) =>
  [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

it.each(['README.md', 'README.zh-CN.md'])('the first example of %s has ten lines', (readme) => {
  const [, code = ''] = /^```ts\n(.*?)\n```$/ms.exec(pageOf(readme)) ?? [];
  expect(code.split('\n')).toHaveLength(10);
});

const wordsOf = (text: string) => proseOf(text).match(/[a-z]+/gi) ?? [];
const sentencesOf = (text: string) =>
  proseOf(text)
    .replace(/\]\([^)]*\)|[`*[\]]/g, '')
    .replace(/\s*\n\s*/g, ' ')
    .split(/(?<=[.:;?]) | - | \| /)
    .filter((sentence) => sentence.split(' ').length >= 6);
const INSIDE: Record<string, string[]> = {
  lock: ['lock', 'reentrancy'],
  'multi-lock': ['red-lock'],
  guarantees: ['proofs'],
};

describe.each([...PAGES, 'guarantees'])('docs/%s.md, for users', (name) => {
  const text = pageOf(`docs/${name}.md`);

  it('has 300 to 900 words', () => {
    expect(wordsOf(text).length).toBeGreaterThanOrEqual(300);
    expect(wordsOf(text).length).toBeLessThanOrEqual(900);
  });

  it.each(INSIDE[name] ?? [name])('says nothing that internals/%s.md says too', (inside) => {
    const said = new Set(sentencesOf(text));
    const twice = sentencesOf(pageOf(`docs/internals/${inside}.md`));
    expect(twice.filter((sentence) => said.has(sentence))).toEqual([]);
  });
});

describe('the links', () => {
  it.each(ALL)('of %s lead somewhere', (page) => {
    const text = pageOf(page);
    const broken = [...linksIn(text), ...picturesIn(text)].filter((target) => {
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      if (!existsSync(new URL(file, ROOT))) return true;
      return anchor !== undefined && !anchorsOf(pageOf(file)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it.each([
    ['README.md', DOCS.filter((page) => !isChinese(page))],
    ['README.zh-CN.md', DOCS.filter((page) => !DOCS.includes(chineseOf(page)))],
  ])('lead from %s to every page', (readme, pages) => {
    const reached = new Set([readme]);
    // A set goes on to what is added to it on the way.
    for (const page of reached) {
      for (const target of linksIn(pageOf(page))) {
        const file = posix.join(posix.dirname(page), target.split('#')[0] ?? '');
        if (DOCS.includes(file)) reached.add(file);
      }
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});

describe('what a reader is told to run', () => {
  const { scripts } = JSON.parse(pageOf('package.json')) as { scripts: object };

  it.each(PROJECT)('is there: %s', (page) => {
    const text = pageOf(page);
    const named = [...text.matchAll(/`npm run ([\w:]+)/g)].map(([, script = '']) => script);
    expect(named.length + linksIn(text).length).toBeGreaterThan(3);
    expect(named.filter((script) => !Object.hasOwn(scripts, script))).toEqual([]);
  });

  it('is one spec that exists', () => {
    const text = pageOf('CONTRIBUTING.md');
    const specs = [
      ...[...text.matchAll(/`npx jest (\S+?)[` ]/g)].map(([, file = '']) => file),
      ...[...text.matchAll(/test:faults -- ([\w-]+)/g)].map(
        ([, name = '']) => `test/faults/${name}.spec.ts`,
      ),
    ];
    expect(specs.length).toBeGreaterThan(2);
    expect(specs.filter((file) => !existsSync(new URL(file, ROOT)))).toEqual([]);
  });
});

/** The shape of a page is the same in every language. Links lead to the page in the same language. */
function shapeOf(text: string) {
  // Diagrams are translated.
  const blocks = [...text.matchAll(/^```.*?^```$/gms)].map(([block]) =>
    block.replace(/^```mermaid.*/s, 'mermaid'),
  );
  const prose = proseOf(text);
  const pageIn = (target: string) => target.split('#')[0]?.replace('.zh-CN.md', '.md') ?? '';
  return {
    headings: [...prose.matchAll(/^#+ /gm)].map(([level]) => level),
    rows: [...prose.matchAll(/^\|.*/gm)].map(([row]) => row.split(' | ').length),
    items: [...prose.matchAll(/^- /gm)].length,
    pictures: picturesIn(prose).map((target) => target.replace(/\.(en|zh)\./, '.')),
    code: blocks.map((block) => block.replace(/(^|\s)(\/\/|# ).*$/gm, '').replace(/\s+/g, ' ')),
    terms: [...new Set(prose.match(/`[^`\n]+`/g))].sort(),
    links: linksIn(prose)
      .map(pageIn)
      .filter((page) => page !== '')
      .sort(),
  };
}

describe('the same in English and Chinese', () => {
  const pages = ['README.md', 'apps/seckill-demo/README.md', ...DOCS];

  it.each(pages.filter((page) => !isChinese(page) && existsSync(new URL(chineseOf(page), ROOT))))(
    '%s',
    (page) => {
      expect(shapeOf(pageOf(chineseOf(page)))).toEqual(shapeOf(pageOf(page)));
    },
  );

  it.each(['README.zh-CN.md', ...DOCS.filter(isChinese)])('links of %s stay in Chinese', (page) => {
    const leaving = linksIn(pageOf(page)).filter((target) => {
      const [path = ''] = target.split('#');
      const there = posix.join(posix.dirname(page), path);
      return (
        path.endsWith('.md') && !isChinese(path) && existsSync(new URL(chineseOf(there), ROOT))
      );
    });
    // The first line leads to the English page.
    expect(leaving).toEqual([posix.basename(englishOf(page))]);
  });
});
