// Holds all that a user reads to the glossary: documentation, docstrings and messages.
import { readFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { TextlintKernel } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import { globSync } from 'tinyglobby';
import plainWords from './plain-words.mjs';
import { proseOfCode } from './prose-of-code.mjs';

const READ = [
  '*.md',
  'docs/*.md',
  '{apps,bench,examples}/**/*.md',
  'libs/redis-lock/{CHANGELOG.md,.changeset/*.md}',
  '{apps/seckill-demo,libs/redis-lock}/src/**/*.{ts,mjs}',
  '{scripts,bench}/**/*.mjs',
];
const NOT_READ = [
  '**/{node_modules,dist}/**',
  '**/*.zh-CN.md',
  '**/*.spec.ts',
  'docs/conformance.md',
  'libs/redis-lock/README.md',
  'libs/redis-lock/docs/**',
];

const kernel = new TextlintKernel();

/** @param {string} path */
async function complaints(path) {
  const text = await readFile(path, 'utf8');
  const prose = path.endsWith('.md')
    ? { markdown: text, places: undefined }
    : proseOfCode(path, text);
  const { messages } = await kernel.lintText(prose.markdown, {
    ext: '.md',
    filePath: path,
    plugins: [{ pluginId: 'markdown', plugin: markdown.default }],
    rules: [{ ruleId: 'plain-words', rule: plainWords }],
  });
  return messages.map(({ loc: { start }, message }) => {
    const line = prose.places?.[start.line - 1] ?? start.line;
    return `${path}:${line}: ${message}`;
  });
}

const paths = argv.length > 2 ? argv.slice(2) : globSync(READ, { ignore: NOT_READ }).sort();
const found = (await Promise.all(paths.map(complaints))).flat();
if (found.length > 0) {
  console.error(
    `${found.join('\n')}\n${found.length} places need plain words: docs/glossary.md has them.`,
  );
  process.exitCode = 1;
}
