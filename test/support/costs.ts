import { expect } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { eventually } from './eventually.js';
import type { RedisFixture } from './redis-server.js';

/** What a client does once when it opens, and how scripts travel. */
const NOT_COUNTED = /^(evalsha|eval|client\|.*|info|hello|select|script\|load)$/;

/** What one operation costs Redis, such as `1 script: DECR, GET × 2, SET`. */
async function costOf(redis: RedisFixture, work: () => Promise<unknown>): Promise<string> {
  const sent = await redis.commandsDuring(work);
  const commands = Object.entries(sent)
    .filter(([name]) => !NOT_COUNTED.test(name))
    .map(([name, count]) => name.toUpperCase() + (count > 1 ? ` × ${count}` : ''))
    .sort();
  const scripts = sent.evalsha ?? 0;
  return `${scripts} ${scripts === 1 ? 'script' : 'scripts'}: ${commands.join(', ')}`;
}

/** A second after them, the notes of requests are cleared away by a script of its own. */
const UNDISTURBED_MS = 800;

/**
 * Measures operations whose scripts Redis knows, one after the other and from an empty Redis on,
 * prints what they cost, and expects the table of a page of the docs to say so:
 * `| what is done | the cost |`.
 */
export async function expectCosts(
  redis: RedisFixture,
  page: string,
  operations: readonly (readonly [what: string, work: () => Promise<unknown>])[],
): Promise<void> {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8');
  let measured: string[];
  let startedAt: number;
  do {
    await eventually(async () => (await redis.admin.keys('nestjs_*')).length === 0);
    await redis.admin.flushall();
    startedAt = performance.now();
    measured = [];
    for (const [what, work] of operations) {
      measured.push(`| ${what} | ${await costOf(redis, work)} |`);
    }
  } while (performance.now() - startedAt > UNDISTURBED_MS);
  process.stdout.write(`${page}\n${measured.join('\n')}\n`);
  const written = text.split('\n').map((line) => line.replace(/\s+/g, ' ').trim());
  for (const line of measured) expect(written).toContain(line);
}
