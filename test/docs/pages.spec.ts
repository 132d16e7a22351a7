import { describe, expect, it } from '@jest/globals';
import { pageOf } from '../support/proofs.js';

const PAGES = [
  ...['lock', 'fair-lock', 'read-write-lock', 'semaphore', 'counting-semaphore', 'latch'],
  ...['multi-lock', 'red-lock', 'fencing'],
];

/** What each page of a kind of lock tells, and how to know that it does. */
const TELLS = {
  'when not to use it': /\b(not to use|do not use|not for|when not|prefer the)\b/i,
  'what is in Redis': /^## .*\b(Redis|keys)\b/im,
  'its course, as a sequence diagram': /^```mermaid\nsequenceDiagram/m,
  'what a crash leaves': /what a crash leaves|\*\*A crash\*\*|a process that dies/i,
  'what it costs': /^## .*cost|\bcosts? (what|in Redis)|\| cost in Redis/im,
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
    expect(PAGES.filter((name) => !rows.includes(`(docs/${name}.md)`))).toEqual([]);
  });
});
