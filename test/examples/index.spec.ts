import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { EXAMPLES } from '../../scripts/examples/table.mjs';
import { Example } from './example.js';

const ROOT = new URL('../../examples/', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8');
const NAMES = [...EXAMPLES.keys()];

describe('the examples', () => {
  it('are folders, and each one is a row of the index', () => {
    const folders = readdirSync(ROOT).filter((name) => !name.includes('.'));
    expect(folders.sort()).toEqual([...NAMES].sort());
    const rows = [...read('README.md').matchAll(/\]\(([\w-]+)\).*`npm run example -- ([\w-]+)`/g)];
    expect(rows.map(([, folder, name]) => [folder, name])).toEqual(NAMES.map((its) => [its, its]));
  });

  it.each(NAMES)('%s starts by the command of its page, which is short', (name) => {
    const page = read(`${name}/README.md`);
    expect(page).toContain(`\nnpm run example -- ${name}\n`);
    expect(page.trim().split('\n').length).toBeLessThanOrEqual(25);
  });

  it('have these names alone', async () => {
    const example = await Example.start('htttp');
    expect(await example.exited).toBe(2);
    expect(example.stderr).toContain(NAMES.join(', '));
    await example.leavesNothing();
  });
});
