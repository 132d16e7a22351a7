// Holds all that a user reads to the glossary: documentation, docstrings and messages.
import { readFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { globSync } from 'tinyglobby';
import { complaintsAbout } from './complaints.mjs';

const READ = [
  '{.github/,}*.md',
  'docs/**/*.md',
  '{apps,bench,examples}/**/*.md',
  'libs/redis-lock/{CHANGELOG.md,.changeset/*.md}',
  '{apps/seckill-demo,libs/redis-lock}/src/**/*.{ts,mjs}',
  '{bench,examples,scripts,site}/**/*.{ts,mjs}',
];
const NOT_READ = ['**/{node_modules,dist}/**', '**/*.spec.ts', 'docs/internals/conformance.md'];

const paths =
  argv.length > 2 ? argv.slice(2) : globSync(READ, { ignore: NOT_READ, dot: true }).sort();
const complaints = await Promise.all(
  paths.map(async (path) => complaintsAbout(path, await readFile(path, 'utf8'))),
);
const found = complaints.flat();
if (found.length > 0) {
  console.error(
    `${found.join('\n')}\n${found.length} places need plain words: docs/internals/glossary.md has them.`,
  );
  process.exitCode = 1;
}
