import type { LockInspection } from '../primitives/monitor/inspection.js';
import { rounded } from './clocks.js';
import type { Terminal } from './io.js';
import { plain } from './report.js';

/** The content of a frame of `top`. */
export interface Shown {
  readonly servers: readonly string[];
  /** Whether all keys were looked at so far. */
  readonly isComplete: boolean;
  readonly looks: readonly ({ readonly node: string } & LockInspection)[];
  /** Names that were given, and are no locks. */
  readonly problems: readonly {
    readonly name: string;
    readonly node: string;
    readonly problem: string;
  }[];
}

const HEADS = ['NAME', 'KIND', 'HOLDER', 'HOLDS', 'ENDS IN', 'WAITING'] as const;
/** The lines that are no lock: two of heads, and one of the rest. */
const OTHER_LINES = 3;

/** A frame for a person; where there is a screen, no larger than that. */
export function frameOf(
  { looks, problems, servers, isComplete }: Shown,
  screen?: Pick<Terminal, 'rows' | 'columns'>,
): string {
  const rows = looks.toSorted(byWaiting).map((look) => rowOf(look, servers.length > 1));
  const most =
    screen === undefined
      ? rows.length
      : Math.max(1, screen.rows - OTHER_LINES - problems.length - 1);
  const shown = rows.slice(0, most);
  const widths = HEADS.map((head, i) =>
    Math.max(head.length, ...shown.map((row) => row[i]?.length ?? 0)),
  );
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  const rest = rows.length - shown.length;
  const lines = [
    titleOf(looks, servers, isComplete) + (screen === undefined ? '' : '; q ends'),
    lineOf(HEADS),
    ...shown.map(lineOf),
    ...(rest > 0 ? [`and ${String(rest)} more`] : []),
    ...problems.map(({ name, node, problem }) => `${name} on ${node}: ${problem}`),
  ];
  const cut = (line: string) => (screen === undefined ? line : line.slice(0, screen.columns));
  return `${lines.map((line) => cut(plain(line))).join('\n')}\n`;
}

function titleOf(looks: Shown['looks'], servers: readonly string[], isComplete: boolean): string {
  const held = looks.filter(({ remainingMs }) => remainingMs > 0).length;
  const waiting = looks.reduce((sum, look) => sum + waitingIn(look), 0);
  const so = isComplete ? '' : ', so far';
  return `${servers.join(', ')}: ${String(held)} held, ${String(waiting)} waiting${so}`;
}

function byWaiting(a: LockInspection, b: LockInspection): number {
  return waitingIn(b) - waitingIn(a) || (a.name < b.name ? -1 : 1);
}

/** A writer is in two queues: by its process, and by itself. */
function waitingIn({ queues }: LockInspection): number {
  return queues
    .filter(({ kind, each }) => kind !== 'write' || each === 'caller')
    .reduce((sum, { length }) => sum + length, 0);
}

function rowOf(look: Shown['looks'][number], hasNode: boolean): string[] {
  const { name, node, kinds, holders, holderCount, remainingMs, permits } = look;
  const [first] = holders;
  const more = holderCount > 1 ? ` and ${String(holderCount - 1)} more` : '';
  const isSemaphore = first?.kind === 'semaphore' && permits !== undefined;
  const inUse = `${String(permits?.acquired)} of ${String(permits?.capacity)} permits`;
  return [
    hasNode ? `${name} on ${node}` : name,
    kinds.length === 0 ? 'free' : kinds.join(','),
    isSemaphore ? inUse : first === undefined ? '-' : first.owner + more,
    isSemaphore || first === undefined ? '-' : String(first.holdCount),
    remainingMs === Infinity ? 'never' : remainingMs === 0 ? '-' : rounded(remainingMs),
    String(waitingIn(look)),
  ];
}
