import { LockBackendError, LockStateError } from '../core/api/errors.js';
import type { LockEvent } from '../core/api/observer.js';
import { LockContext } from '../core/lock-context.js';
import type { RedisConnection } from '../core/redis/connection.js';
import type { Clock } from '../core/time/clock.js';
import { connectionOver } from '../connection/client-connection.js';
import type { Server } from '../connection/cli-target.js';
import type { LockInspection } from '../primitives/monitor/inspection.js';
import { LockMonitor } from '../primitives/monitor/lock-monitor.js';
import { reasonOf, RefusedError, UnreachableError, within } from './answers.js';
import { MOST_MS, type Run } from './io.js';
import { connect } from './server.js';

const CLOSED_MS = 3_000;

/**
 * The locks of a server, as an application would use them.
 * @throws {LockConfigurationError} the prefix cannot be used
 */
export function contextOn(
  { client }: Server,
  keyPrefix: string,
  clock: Clock,
  observe: (event: LockEvent) => void,
): { context: LockContext; connection: RedisConnection } {
  const observer = { observe };
  const connection = connectionOver({ client, isOurs: false }, observer, 'auto', 'warn');
  // No window for outsiders: the command waits for no lock, and leaves no key.
  const settings = { keyPrefix, shutdownTimeoutMs: 0, observer, interop: 'none' as const };
  return { connection, context: new LockContext(connection, settings, clock) };
}

/** Releases what is held. A lock whose release does not reach Redis expires. */
export async function closed(context: LockContext): Promise<void> {
  await within(CLOSED_MS, 'the shutdown', context.close()).catch(() => undefined);
}

/** The reason why a name on a node is no lock. */
export interface Problem {
  readonly node: string;
  readonly problem: string;
}

/** Held locks whose key ends in a free name: its prefix may be missing or wrong. */
export interface Elsewhere {
  readonly keys: readonly string[];
  /** False if a limit, or a missing permission, has ended the search. */
  readonly isComplete: boolean;
}

/** A name on a node, or the reason why it is no lock. */
export type Look =
  ({ readonly node: string; readonly elsewhere?: Elsewhere } & LockInspection) | Problem;

/** A connected server whose locks are inspected. */
export interface Watched {
  readonly server: Server;
  readonly monitor: LockMonitor;
  /** The events of the forced releases. */
  readonly taken: (LockEvent & { type: 'force-released' })[];
}

/**
 * Runs the work with all servers connected.
 * @throws {UnreachableError} a server does not answer
 * @throws {ReplyError} a server refuses every client, or this user
 */
export async function withServers<T>(
  servers: readonly Server[],
  { keyPrefix, clock }: Run,
  work: (watched: readonly Watched[]) => Promise<T>,
): Promise<T> {
  const contexts: LockContext[] = [];
  try {
    const watched = servers.map(async (server): Promise<Watched> => {
      await connect(server);
      const taken: Watched['taken'] = [];
      const { context } = contextOn(server, keyPrefix, clock, (event) => {
        if (event.type === 'force-released') taken.push(event);
      });
      contexts.push(context);
      return { server, monitor: new LockMonitor(context), taken };
    });
    return await work(await within(MOST_MS, 'the connection', Promise.all(watched)));
  } finally {
    await Promise.all(contexts.map(closed));
  }
}

/** A name on all servers. */
export function lookAt(watched: readonly Watched[], name: string): Promise<Look[]> {
  const looking = watched.map(async ({ server, monitor }): Promise<Look> => {
    const node = server.name;
    try {
      return { node, ...(await answered(monitor.inspect(name))) };
    } catch (error) {
      if (!(error instanceof LockStateError)) throw error;
      return { node, problem: reasonOf(error) };
    }
  });
  return within(MOST_MS, 'the inspection', Promise.all(looking));
}

/** The errors of the library, as those of the command line. */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof LockBackendError)) throw error;
    const said = reasonOf(error);
    if (/\bMOVED \d/.test(said))
      throw new RefusedError(`this is a node of a Cluster: add --cluster (${said})`, {
        cause: error,
      });
    throw isUnanswered(error) ? new UnreachableError(said) : new RefusedError(said);
  }
}

/** A client that has lost its server does not connect again: its connection counts as closed. */
function isUnanswered({ retryable, outcome, cause }: LockBackendError): boolean {
  return retryable || (outcome === 'none' && cause === undefined);
}
