import { quoteName } from '../core/api/errors.js';
import type { LockProcess } from '../core/api/observer.js';
import { UNSAFE_CHARACTERS } from '../core/api/shapes.js';
import { placeOf } from '../core/client-record.js';
import type { LockInspection } from '../primitives/monitor/inspection.js';
import { rounded } from './clocks.js';
import type { Finding } from './finding.js';
import type { Look, Problem } from './watch.js';

type Holder = LockInspection['holders'][number];
type Queue = LockInspection['queues'][number];

const CHECK_WIDTH = 12;

const UNSAFE = new RegExp(UNSAFE_CHARACTERS, 'gu');

/**
 * One line, with control characters as JSON writes them: any client of Redis may have chosen the
 * text.
 */
function plain(text: string): string {
  return text.replace(UNSAFE, (character) =>
    // Beyond the first 65,536 characters, JSON writes two units.
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** The same for a text of several lines. */
export function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/** For programs, and safe for a terminal. */
export function jsonOf(value: unknown): string {
  return `${plainLines(JSON.stringify(value, undefined, 2))}\n`;
}

/** A finding as lines for a person. */
export function linesOf({ check, status, found, fix, node }: Finding): string {
  const where = node === undefined ? '' : `[${node}] `;
  const line = `${status.padEnd(5)} ${check.padEnd(CHECK_WIDTH)} ${where}${plain(found)}\n`;
  return fix === undefined ? line : `${line}${' '.repeat(6 + CHECK_WIDTH)} fix: ${plain(fix)}\n`;
}

/** A name on a node, as lines for a person. */
export function pageOf(name: string, look: Look): string {
  if ('problem' in look) return `${plain(`${name} on ${look.node}: ${look.problem}`)}\n`;
  const { key, node, kinds, holders, permits, count, fencingToken, queues } = look;
  const isSemaphore = kinds.includes('semaphore') && count === undefined;
  const lines = [
    `${key} on ${node}: ${headlineOf(look)}`,
    ...(count === undefined ? [] : [`  count    ${String(count)}`]),
    ...(isSemaphore && permits !== undefined ? [permitsLine(permits)] : []),
    ...holders.map(holderLine),
    ...restLines(look.holderCount - holders.length),
    ...(fencingToken === undefined ? [] : [`  token    ${String(fencingToken)}`]),
    ...queues.flatMap(queueLines),
    ...elsewhereLines(look),
  ];
  return `${lines.map(plain).join('\n')}\n`;
}

function headlineOf({ kinds, remainingMs, count }: LockInspection): string {
  if (kinds.length === 0) return 'free';
  const kind = kinds.join(count === undefined ? ' and ' : ' or ');
  if (count !== undefined) return kind;
  return remainingMs === 0 ? `${kind}, free` : `${kind}, held, ${endsIn(remainingMs)}`;
}

function permitsLine({
  available,
  acquired,
  capacity,
}: NonNullable<LockInspection['permits']>): string {
  return `  permits  ${String(available)} free, ${String(acquired)} in use, ${String(capacity)} in total`;
}

/** An owner or a client, with its process if that is known. */
function named(who: string, process: LockProcess | undefined): string {
  return process === undefined ? who : `${who} (${placeOf(process)})`;
}

function holderLine({ kind, owner, holdCount, remainingMs, process }: Holder): string {
  const who = named(owner, process);
  const left = remainingMs === 0 ? 'expired' : endsIn(remainingMs);
  if (kind === 'semaphore') return `           ${who}, ${left}`;
  const as = kind === 'read' || kind === 'write' ? `, to ${kind}` : '';
  const times = holdCount === 1 ? 'once' : `${String(holdCount)} times`;
  const how = holdCount === 0 ? 'handed over, not entered yet' : times;
  return `  holder   ${who}${as}, ${how}, ${left}`;
}

function queueLines({ kind, each, length, waiters }: Queue): string[] {
  const shown = waiters.map(({ who, waitedMs, forgottenInMs, permits, process }, i) => {
    const wanted = permits === undefined ? '' : ` for ${String(permits)} permits`;
    const waited = waitedMs === undefined ? '' : `, for ${rounded(waitedMs)}`;
    const until =
      forgottenInMs === undefined
        ? ''
        : `, entry expires in ${rounded(forgottenInMs)} unless renewed`;
    return `           ${String(i + 1)}. ${named(who, process)}${wanted}${waited}${until}`;
  });
  const one = each === 'process' ? 'process' : 'caller';
  const many = each === 'process' ? 'processes' : 'callers';
  return [
    `  waiting  ${kind}: ${String(length)} ${length === 1 ? one : many}`,
    ...shown,
    ...restLines(length - waiters.length),
  ];
}

/** A name may be free because its prefix is missing. */
function elsewhereLines({ name, elsewhere }: Exclude<Look, Problem>): string[] {
  if (elsewhere === undefined) return [];
  const found = elsewhere.keys.map((key) => {
    const prefix = key.slice(0, -name.length);
    const how = prefix === '' ? 'no --key-prefix' : `--key-prefix ${prefix}`;
    return `  but      ${key} is held: use ${how}`;
  });
  const rest =
    '  but      other prefixes were not all searched: it needs +scan and their keys, and ends after 2 s';
  return elsewhere.isComplete ? found : [...found, rest];
}

function restLines(rest: number): string[] {
  return rest > 0 ? [`           and ${String(rest)} more`] : [];
}

function endsIn(ms: number): string {
  return ms === Infinity ? 'no expiry' : `ends in ${rounded(ms)}`;
}

/** The record of a forced release, for a person. */
export function takenLine({
  node,
  holders,
  remainingMs,
  reason,
}: {
  readonly node: string;
  readonly holders: readonly { readonly owner: string; readonly process?: LockProcess }[];
  readonly remainingMs: number;
  readonly reason?: string | undefined;
}): string {
  const why = reason === undefined ? '' : `; reason: ${quoteName(reason)}`;
  const owners = holders.map(({ owner, process }) => named(owner, process)).join(', ');
  const left = remainingMs === Infinity ? endsIn(remainingMs) : `${rounded(remainingMs)} left`;
  return `${plain(`Taken away on ${node} from ${owners}: ${left}${why}`)}\n`;
}
