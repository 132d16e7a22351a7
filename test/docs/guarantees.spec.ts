import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');
const PATHS = ['test', 'libs/redis-lock/src'].flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(spec|contract)\.ts$/.test(path))
    .map((path) => `${folder}/${path}`),
);

interface Proof {
  holds: string;
  /** As the page names it: a path, or the name of a file where that is enough. */
  file: string;
  /** What its title holds; empty when all of the file is the proof. */
  title: string;
}

/** `| what holds | \`file\`: title; another title, \`another file\` |` */
function proofsOf(line: string): Proof[] {
  const [, holds = '', proved = ''] = line.split('|').map((cell) => cell.trim());
  let file = '';
  return proved.split(/; |, (?=`)/).map((part) => {
    const named = /^`([^`]+)`(?:: (.*))?$/.exec(part);
    if (named === null) return { holds, file, title: part };
    file = named[1] ?? '';
    return { holds, file, title: named[2] ?? '' };
  });
}

describe('docs/guarantees.md', () => {
  const rows = read('docs/guarantees.md')
    .split('\n')
    .filter((line) => /^\|.*`/.test(line));
  const proofs = rows.flatMap(proofsOf);

  it('names a spec in every row of its tables', () => {
    expect(rows.length).toBeGreaterThan(40);
    expect(proofs.filter(({ file }) => file === '')).toEqual([]);
  });

  it.each(proofs.map((proof) => [proof.holds, proof] as const))('%s', (_, { file, title }) => {
    const found = PATHS.filter((path) => path === file || basename(path) === file);
    expect(found).not.toEqual([]);
    expect(found.map(read).some((text) => text.includes(title))).toBe(true);
  });
});
