import { readFile } from 'node:fs/promises';
import { REDISSON_VERSIONS } from '../../interop/versions.mjs';
import type { WireKeys, WireMessage } from './wire-state.js';

/**
 * The real Redisson does this to Redis, step by step; `npm run interop -- --record` saw it. The
 * files are in `test/interop/traces`: `<primitive>.<version>.json` for the newest version; an older
 * one has a file with those of its scenarios that differ, and with `null` for what it cannot do.
 *
 * Owners are written `<A>`, `<B>`, … (a thread of a Java service), permits `<permit 1>`, … Times are
 * rounded up to 5 s; `ttl` is -1 where there is none; a score that is a time reads `now + 30000`, or
 * `past`. The lock is called `a`. The latches of Redisson's unlock are left out: they concern
 * no other client.
 */
export interface Trace {
  readonly redisson: string;
  readonly scenarios: Readonly<Record<string, readonly TraceStep[] | null>>;
}

export interface TraceStep {
  /** The step, such as `A: lock.lock()`; `… waits` began a call that has not ended. */
  readonly do: string;
  /** The answer of Redisson, or the class of the exception that it threw. */
  readonly answer?: unknown;
  /** Everything that is in Redis afterwards; what is left out is as it was after the step before. */
  readonly keys?: WireKeys;
  /** The messages that were published. */
  readonly messages?: readonly WireMessage[];
  /** The channels on which clients of Redisson listen, once one of them does. */
  readonly listening?: readonly string[];
}

export const NEWEST_REDISSON = REDISSON_VERSIONS[0];
const FOLDER = new URL('../../interop/traces/', import.meta.url);

export function traceFile(primitive: string, version: string): URL {
  return new URL(`${primitive}.${version}.json`, FOLDER);
}

export async function readTrace(
  primitive: string,
  version: string = NEWEST_REDISSON,
): Promise<Trace | null> {
  const text = await readFile(traceFile(primitive, version), 'utf8').catch(() => null);
  return text === null ? null : (JSON.parse(text) as Trace);
}
