import { expect } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { eventually } from './eventually.js';
import type { RedisFixture } from './redis-server.js';

/** A client sends some of these once when it opens; the others carry the scripts. */
const NOT_COUNTED = /^(evalsha|eval|client\|.*|info|hello|select|script\|load)$/;

/** The commands of one operation, such as `1 script: DECR, GET × 2, SET`. */
async function costOf(redis: RedisFixture, work: () => Promise<unknown>): Promise<string> {
  const sent = await redis.commandsDuring(work);
  const commands = Object.entries(sent)
    .filter(([name]) => !NOT_COUNTED.test(name))
    .map(([name, count]) => name.toUpperCase() + (count > 1 ? ` × ${count}` : ''))
    .sort();
  const scripts = (sent.evalsha ?? 0) + (sent.eval ?? 0);
  return `${scripts} ${scripts === 1 ? 'script' : 'scripts'}: ${commands.join(', ')}`;
}

/** A second after them, the notes of requests are cleared away by a script of its own. */
const UNDISTURBED_MS = 800;

/** The commands of `first` are not counted. */
export type Operation = readonly [
  what: string,
  work: () => Promise<unknown>,
  first?: () => Promise<unknown>,
];

/**
 * Measures operations one after the other and from an empty Redis on, prints what they cost once
 * Redis knows their scripts, and expects the table of a page of the docs to say so:
 * `| what is done | the cost |`.
 */
export async function expectCosts(
  redis: RedisFixture,
  page: string,
  operations: readonly Operation[],
): Promise<void> {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  // Redis learns the scripts.
  await measure(redis, operations);
  let measured;
  do measured = await measure(redis, operations);
  while (measured.tookMs > UNDISTURBED_MS);
  process.stdout.write(`${page}\n${measured.rows.join('\n')}\n`);
  const written = text.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  for (const row of measured.rows) expect(written).toContain(row);
}

async function measure(redis: RedisFixture, operations: readonly Operation[]) {
  await eventually(async () => (await redis.admin.keys('nestjs_*_request*')).length === 0);
  await redis.admin.flushall();
  const startedAt = performance.now();
  const rows: string[] = [];
  for (const [what, work, first] of operations) {
    await first?.();
    rows.push(`| ${what} | ${await costOf(redis, work)} |`);
  }
  return { rows, tookMs: performance.now() - startedAt };
}
