import { UNSAFE_CHARACTERS } from '../core/api/shapes.js';
import { rounded } from './clocks.js';
import type { Finding } from './finding.js';
import type { Holder, Inspection, Queue } from './inspection.js';

const CHECK_WIDTH = 12;

const UNSAFE = new RegExp(UNSAFE_CHARACTERS, 'gu');

/**
 * One line, with control characters as JSON writes them: any client of Redis may have chosen the
 * text.
 */
function plain(text: string): string {
  return text.replace(UNSAFE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
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

/** The state of a name, as lines for a person. */
export function pageOf(inspection: Inspection): string {
  const { node, key, permits, token, count, queues, holders } = inspection;
  const lines = [
    `${key} on ${node}: ${headlineOf(inspection)}`,
    ...holders.map(holderLine),
    ...(count === undefined ? [] : [`  count    ${String(count)}`]),
  ];
  if (permits !== undefined) {
    const { available, used, expired, leases } = permits;
    const free = available === null ? 'of an unknown number' : `${String(available)} free`;
    const over = expired === 0 ? '' : `, ${String(expired)} of them expired`;
    lines.push(`  permits  ${free}, ${String(used)} in use${over}`);
    for (const { id, ttlMs } of leases) lines.push(`           ${id}, ${endsIn(ttlMs)}`);
  }
  if (token !== undefined) {
    lines.push(`  token    ${token.value} in ${token.key}, ${endsIn(token.ttlMs)}`);
  }
  for (const queue of queues) lines.push(...queueLines(queue));
  return `${lines.map(plain).join('\n')}\n`;
}

function headlineOf({ kind, type, ttlMs, mode, holders }: Inspection): string {
  if (kind === 'free') return 'free';
  if (kind === 'unknown') return `a ${type} that is no lock of this library`;
  const held = holders.length > 0 ? ', held' : '';
  const ends = type === 'none' ? '' : `, ${endsIn(ttlMs)}`;
  return `${kind}${mode === undefined ? held : `, held to ${mode}`}${ends}`;
}

function holderLine({ owner, count, side, ttlMs }: Holder): string {
  const as = side === undefined ? '' : `, to ${side}`;
  const isReader = side === 'read';
  const left = isReader
    ? `, ${ttlMs === null || ttlMs === undefined ? 'over' : endsIn(ttlMs)}`
    : '';
  const times = count === 0 ? ', was handed it and has yet to enter' : `, ${String(count)} times`;
  return `  holder   ${owner}${as}${count === 1 ? ', once' : times}${left}`;
}

function queueLines({ what, key, length, waiters }: Queue): string[] {
  const shown = waiters.map(({ position, who, waitedMs, forgottenInMs }) => {
    const waited = waitedMs === undefined ? '' : `, for ${rounded(waitedMs)}`;
    const until =
      forgottenInMs === undefined
        ? ''
        : `, forgotten in ${rounded(forgottenInMs)} unless it asks again`;
    return `           ${String(position)}. ${who}${waited}${until}`;
  });
  const rest = length - waiters.length;
  return [
    `  waiting  ${what}, ${String(length)}, in ${key}`,
    ...shown,
    ...(rest > 0 ? [`           and ${String(rest)} more`] : []),
  ];
}

function endsIn(ttlMs: number | null): string {
  return ttlMs === null ? 'without an end' : `ends in ${rounded(ttlMs)}`;
}
