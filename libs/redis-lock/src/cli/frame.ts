import type { LockInspection } from '../primitives/monitor/inspection.js';
import { placeOf } from '../core/client-record.js';
import { rounded } from './clocks.js';
import type { Terminal } from './io.js';
import { plain, problemLine } from './report.js';
import type { Problem } from './watch.js';

/** The content of a frame of `top`. */
export interface Shown {
  readonly servers: readonly string[];
  /** Whether one scan has reached all keys. */
  readonly isComplete: boolean;
  readonly looks: readonly ({ readonly node: string } & LockInspection)[];
  /** Given names that are no locks. */
  readonly problems: readonly ({ readonly name: string } & Problem)[];
}

/** A narrow screen cuts the end off: the process of a holder comes first, and its long id last. */
const HEADS = ['NAME', 'HOLDER', 'KIND', 'HOLDS', 'ENDS IN', 'WAITING', 'OWNER'] as const;
/** The lines without a lock: two of headings, and one for the rest. */
const OTHER_LINES = 3;

/** A frame for a person, no larger than the screen if there is one. */
export function frameOf(
  { looks, problems, servers, isComplete }: Shown,
  screen?: Pick<Terminal, 'rows' | 'columns'>,
): string {
  const rows = looks.toSorted(byWaiting).map((look) => rowOf(look, servers.length > 1).map(plain));
  const told = problems.map((problem) => problemLine(problem.name, problem));
  const others = OTHER_LINES + told.length;
  const most = screen === undefined ? rows.length : Math.max(1, screen.rows - others - 1);
  const shown = rows.slice(0, most);
  const widths = HEADS.map((head, i) =>
    Math.max(...[head, ...shown.map((row) => row[i] ?? '')].map(widthOf)),
  );
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd();
  const rest = rows.length - shown.length;
  const lines = [
    plain(titleOf(looks, servers, isComplete)) + (screen === undefined ? '' : '; q ends'),
    lineOf(HEADS),
    ...shown.map(lineOf),
    ...(rest > 0 ? [`and ${String(rest)} more`] : []),
    ...told,
  ];
  const fitting =
    screen === undefined
      ? lines
      : lines.slice(0, screen.rows - 1).map((line) => cut(line, screen.columns));
  return `${fitting.join('\n')}\n`;
}

/** Characters that take two columns of a terminal, by the East Asian Width of Unicode (UAX #11). */
const WIDE =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/gu;

/** The columns that a text takes. */
function widthOf(text: string): number {
  return Array.from(text).length + (text.match(WIDE)?.length ?? 0);
}

function cut(line: string, columns: number): string {
  let width = 0;
  return Array.from(line)
    .filter((character) => (width += widthOf(character)) <= columns)
    .join('');
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
  const { name, node, kinds, remainingMs } = look;
  const [holder, holds, owner] = cellsOf(look);
  return [
    hasNode ? `${name} on ${node}` : name,
    holder,
    kinds.length === 0 ? 'free' : kinds.join(','),
    holds,
    remainingMs === Infinity ? 'never' : remainingMs === 0 ? '-' : rounded(remainingMs),
    String(waitingIn(look)),
    owner,
  ];
}

/** HOLDER, HOLDS and OWNER. Instead of the many holders of a semaphore, its permits in use. */
function cellsOf({
  holders: [first],
  holderCount,
  permits,
}: LockInspection): [string, string, string] {
  if (first === undefined) return ['-', '-', '-'];
  if (first.kind === 'semaphore' && permits !== undefined) {
    return [`${String(permits.acquired)} of ${String(permits.capacity)} permits`, '-', '-'];
  }
  const place = first.process === undefined ? 'unknown' : placeOf(first.process);
  const more = holderCount > 1 ? ` and ${String(holderCount - 1)} more` : '';
  return [place + more, String(first.holdCount), first.owner];
}
