import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { declaredScripts } from '../../scripts/library/scripts.mjs';
import { callOf, keptIn, outcomeOf } from './kept.js';

const scripts = await declaredScripts(({ pathname }) => import(pathname));
const file = new URL('calls.jsonl', import.meta.url);
const kept = keptIn(readFileSync(file, 'utf8'));

/** `npm run mutate -- --keep` writes them: each tells a changed script from the one that it was. */
describe('a call of a script, on the keys that it finds', () => {
  const all = kept.map((call, i) => [call.script, i + 1, call] as const);
  it.each(all)('%s, line %i: answers and writes as it did', (name, _, call) => {
    const lua = scripts.find((script) => script.name === name)?.lua ?? '';
    const { answer, messages, changed, removed } = call;
    const outcome: unknown = JSON.parse(JSON.stringify(outcomeOf(callOf(call), lua)));
    expect(outcome).toEqual({ answer, messages, changed, removed });
  });
});
