import { LockError } from '../core/api/errors.js';
import type { Clock } from '../core/time/clock.js';
import { KeySpace } from '../core/redis/key-names.js';
import { LockMonitor } from '../primitives/monitor/lock-monitor.js';
import { ask, RefusedError } from './answers.js';
import { globbed } from './permissions.js';
import type { Server } from '../connection/cli-target.js';
import { nodesOf } from './server.js';
import { answered, closed, contextOn, type Elsewhere, type Look, type Watched } from './watch.js';

const SEARCH_MS = 2_000;
/** The most keys that are inspected. */
const MOST_KEYS = 100;
const STEP = '1000';
const NO_PREFIX = new KeySpace('');

/** Adds to each free name what the search finds, unless that is nothing. */
export function withElsewhere(
  watched: readonly Watched[],
  looks: readonly Look[],
  name: string,
  clock: Clock,
): Promise<Look[]> {
  const searches = looks.map(async (look, i): Promise<Look> => {
    const server = watched[i]?.server;
    if (server === undefined || 'problem' in look || look.kinds.length > 0) return look;
    const elsewhere = await search(server, name, look.key, clock);
    const isNothing = elsewhere.keys.length === 0 && elsewhere.isComplete;
    return isNothing ? look : { ...look, elsewhere };
  });
  return Promise.all(searches);
}

async function search(server: Server, name: string, key: string, clock: Clock): Promise<Elsewhere> {
  const { context } = contextOn(server, '', clock, () => undefined);
  const monitor = new LockMonitor(context);
  const until = clock.now() + SEARCH_MS;
  const keys: string[] = [];
  let left = MOST_KEYS;
  let isComplete = true;
  try {
    for await (const found of keysEndingIn(name, server)) {
      for (const one of found.filter((other) => other !== key && !keys.includes(other))) {
        if (left-- === 0 || clock.now() >= until) return { keys, isComplete: false };
        const held = await isHeld(monitor, one);
        if (held === true) keys.push(one);
        isComplete &&= held !== undefined;
      }
      if (clock.now() >= until) return { keys, isComplete: false };
    }
    return { keys, isComplete };
  } catch (error) {
    if (error instanceof RefusedError) return { keys, isComplete: false };
    throw error;
  } finally {
    await closed(context);
  }
}

/** Step by step, some more than once. */
async function* keysEndingIn(name: string, server: Server): AsyncGenerator<string[]> {
  for (const { client } of nodesOf(server)) {
    let cursor = '0';
    do {
      const args = ['MATCH', `*${globbed(name)}`, 'COUNT', STEP];
      const answer = await ask(client, 'scan', cursor, ...args);
      if ('refusal' in answer) throw new RefusedError(answer.refusal);
      const [next, found] = answer.value as [string, string[]];
      yield found;
      cursor = next;
    } while (cursor !== '0');
  }
}

/**
 * False for a helper key, and for a key that is no lock. Undefined if the user may not read it.
 * @throws {UnreachableError} the server does not answer
 */
async function isHeld(monitor: LockMonitor, key: string): Promise<boolean | undefined> {
  try {
    NO_PREFIX.key(key);
    return (await answered(monitor.inspect(key))).holderCount > 0;
  } catch (error) {
    if (error instanceof RefusedError) return undefined;
    if (error instanceof LockError) return false;
    throw error;
  }
}
