import { LockStateError } from '../core/api/errors.js';
import { checkForceOptions, FORCE_OPTIONS } from '../core/force-release.js';
import { HELD_KINDS, presentHolders, type HeldKind } from '../primitives/monitor/inspection.js';
import { reasonOf, within } from './answers.js';
import { withElsewhere } from './elsewhere.js';
import { EXIT, MOST_MS, UsageError, type Run } from './io.js';
import { jsonOf, pageOf, takenLine } from './report.js';
import type { Server } from '../connection/cli-target.js';
import { answered, lookAt, withServers, type Look, type Watched } from './watch.js';

export interface UnlockOptions {
  readonly name: string;
  readonly kind: string | undefined;
  readonly reason: string | undefined;
  /** Skips the confirmation. */
  readonly isSure: boolean;
}

/**
 * Shows who holds a lock, and takes it from them after a confirmation. Resolves with the exit code.
 * @throws {UsageError} there is no terminal for a confirmation, or the lock is held in two ways
 * @throws {LockArgumentError} the reason cannot be one
 */
export async function runUnlock(
  servers: readonly Server[],
  options: UnlockOptions,
  io: Run,
): Promise<number> {
  const { name, isSure } = options;
  if (!isSure && (io.terminal === undefined || io.isJson)) {
    throw new UsageError('unlock needs a confirmation at a terminal; in a script add --yes');
  }
  const given = checkedKind(options.kind);
  checkForceOptions({ reason: options.reason }, FORCE_OPTIONS);
  return withServers(servers, io, async (watched) => {
    const nodes = await withElsewhere(watched, await lookAt(watched, name), name, io.clock);
    if (!io.isJson) io.out(nodes.map((look) => pageOf(name, look)).join('\n'));
    const kind = given ?? kindOf(nodes);
    const isHeld = kind !== undefined && nodes.some((look) => ownersOf(look, kind).length > 0);
    if (isHeld && !isSure && !(await isAgreed(name, io))) {
      io.out('Nothing was unlocked.\n');
      return EXIT.broken;
    }
    if (isHeld) await takeAway(watched, nodes, { ...options, kind });
    return report(watched, nodes, { ...options, isHeld, kind: given }, io);
  });
}

function checkedKind(kind: string | undefined): HeldKind | undefined {
  const known = HELD_KINDS.find((one) => one === kind);
  if (kind === undefined || known !== undefined) return known;
  throw new UsageError(`--kind is one of ${HELD_KINDS.join(', ')}`);
}

/** @throws {UsageError} it is held in two ways */
function kindOf(nodes: readonly Look[]): HeldKind | undefined {
  const kinds = nodes.flatMap((look) =>
    'problem' in look ? [] : presentHolders(look).map(({ kind }) => kind),
  );
  const [kind, ...others] = new Set(kinds);
  if (others.length === 0) return kind as HeldKind | undefined;
  throw new UsageError(
    `The lock is held in two ways: add --kind ${[kind, ...others].join(' or --kind ')}`,
  );
}

/** The owners that were shown: an owner that acquires it meanwhile keeps it. */
function ownersOf(look: Look, kind: HeldKind): string[] {
  if ('problem' in look) return [];
  const isHash = kind === 'lock' || kind === 'fair';
  return presentHolders(look)
    .filter((holder) => holder.kind === kind || (isHash && ['lock', 'fair'].includes(holder.kind)))
    .map(({ owner }) => owner);
}

async function isAgreed(name: string, { terminal, out }: Run): Promise<boolean> {
  const answer = await terminal?.ask('Take the lock from its holder? [y/N] ');
  if (answer === '') out('\n');
  return /^y(es)?$/i.test(answer?.trim() ?? '');
}

async function takeAway(
  watched: readonly Watched[],
  nodes: readonly Look[],
  { name, kind, reason }: UnlockOptions & { readonly kind: HeldKind },
): Promise<void> {
  const taking = watched.map(async ({ monitor }, i) => {
    const look = nodes[i];
    const owners = look === undefined ? [] : ownersOf(look, kind);
    if (owners.length > 0) await answered(monitor.forceRelease(name, { kind, owners, reason }));
  });
  try {
    await within(MOST_MS, 'the release', Promise.all(taking));
  } catch (error) {
    // The key holds something else since the inspection.
    if (error instanceof LockStateError) throw new Error(reasonOf(error), { cause: error });
    throw error;
  }
}

function report(
  watched: readonly Watched[],
  nodes: readonly Look[],
  { name, kind, isHeld }: Pick<UnlockOptions, 'name' | 'kind'> & { readonly isHeld: boolean },
  { isJson, out }: Run,
): number {
  const isBroken = nodes.some((look) => 'problem' in look);
  const taken = watched.flatMap(({ server, taken }) =>
    taken.map(({ kind, holders, remainingMs, reason }) => ({
      ...{ node: server.name, kind, holders, remainingMs, reason },
    })),
  );
  if (isJson) out(jsonOf({ version: 1, name, nodes, taken }));
  else if (taken.length > 0) out(taken.map(takenLine).join('') + restLine(nodes));
  else if (isHeld) out('The lock was released meanwhile.\n');
  else if (!isBroken) out(`The lock is not held${kind === undefined ? '' : ` as ${kind}`}.\n`);
  // A wrong prefix must not look like a success to a script.
  const isElsewhere = nodes.some((look) => 'elsewhere' in look && look.elsewhere.keys.length > 0);
  return isBroken || (!isHeld && isElsewhere) ? EXIT.broken : EXIT.fine;
}

/** Only the holders that were shown have lost it. */
function restLine(nodes: readonly Look[]): string {
  const rests = nodes.map((look) =>
    'problem' in look ? 0 : look.holderCount - look.holders.length,
  );
  const rest = Math.max(0, ...rests);
  return rest === 0 ? '' : `${String(rest)} more holders: run this again\n`;
}
