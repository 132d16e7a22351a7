import Table from 'cli-table3';
import { STRATEGY_NAMES } from '../strategies/strategy.js';
import { FAULT_NAMES } from './fault.js';
import type { FaultName, FaultResult } from './fault.js';
import type { LoadResult } from './load-result.js';
import { PART_NAMES } from './parts/part.js';
import type { PartResult } from './parts/part.js';
import type { Texts } from './texts.js';

const RULE = '─';
const LONGEST_NAME = Math.max(...STRATEGY_NAMES.map((name) => name.length));

/** A rule below the headings and nothing else: a frame does not fit into 80 columns. */
function plain(gap: string): Table.TableConstructorOptions {
  return {
    chars: {
      ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
      ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
      ...{ left: '', 'left-mid': '', right: '', 'right-mid': '' },
      ...{ middle: gap, mid: RULE, 'mid-mid': RULE.repeat(gap.length) },
    },
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    rowAligns: ['bottom'],
  };
}

/** One group of rows for each number of processes, in the order of the stages. */
export function loadTable(results: readonly LoadResult[], say: Texts): string {
  const numbers = say.loadColumns.length - 2;
  const table = new Table({
    ...plain(' '),
    head: [...say.loadColumns],
    colAligns: ['left', ...Array.from({ length: numbers }, () => 'right' as const), 'left'],
  });
  const sizes = new Set(results.map(({ processes }) => processes));
  for (const processes of [...sizes].sort((a, b) => a - b)) {
    table.push([
      {
        content: say.processes(processes),
        colSpan: say.loadColumns.length,
        // The character of the rule above a cell that spans columns.
        chars: { 'bottom-mid': RULE },
      },
    ]);
    const group = results.filter((result) => result.processes === processes);
    for (const result of inOrder(group)) table.push(loadRow(result, say));
  }
  return trimmed(table);
}

function loadRow(result: LoadResult, say: Texts): Array<string | number> {
  return [
    result.strategy,
    result.sold,
    result.oversold,
    result.undersold,
    result.ledgerDifference,
    result.refused,
    Math.round(result.ordersPerSecond),
    milliseconds(result.p50Ms),
    milliseconds(result.p99Ms),
    say.verdict(result),
  ];
}

/** The cost of an order in Redis, and how well buyers are served in order of arrival. */
export function costTable(results: readonly LoadResult[], say: Texts): string {
  const sizes = [...new Set(results.map(({ processes }) => processes))].sort((a, b) => a - b);
  const table = new Table({
    ...plain('  '),
    head: [
      say.loadColumns[0],
      ...say.costColumns.flatMap((column) => sizes.map((size) => column(size))),
    ],
    colAligns: ['left', ...Array.from({ length: 2 * sizes.length }, () => 'right' as const)],
  });
  for (const strategy of STRATEGY_NAMES) {
    const measured = sizes.map((size) =>
      results.find((result) => result.strategy === strategy && result.processes === size),
    );
    if (measured.every((result) => result === undefined)) continue;
    const figure = (value: number | undefined): string => value?.toFixed(1) ?? '-';
    table.push([
      strategy,
      ...measured.map((result) => figure(result?.commandsPerOrder)),
      ...measured.map((result) => figure(result?.overtaken)),
    ]);
  }
  return trimmed(table);
}

/** One line for each measured strategy. */
export function strategyLegend(results: readonly LoadResult[], say: Texts): string {
  const measured = new Set(results.map(({ strategy }) => strategy));
  return STRATEGY_NAMES.filter((strategy) => measured.has(strategy))
    .map((strategy) => `  ${strategy.padEnd(LONGEST_NAME)}  ${say.strategies[strategy]}`)
    .join('\n');
}

export function faultTable(
  results: readonly FaultResult[],
  faults: readonly FaultName[],
  say: Texts,
): string {
  const shown = FAULT_NAMES.filter((fault) => faults.includes(fault));
  const table = new Table({
    ...plain('  '),
    head: [say.faultColumn, ...shown.map((fault) => say.faults[fault])],
  });
  for (const strategy of STRATEGY_NAMES) {
    const cells = results.filter((result) => result.strategy === strategy);
    if (cells.length === 0) continue;
    const outcomeOf = (fault: FaultName) =>
      cells.find((result) => result.fault === fault)?.outcome ?? 'none';
    table.push([strategy, ...shown.map((fault) => say.outcomes[outcomeOf(fault)])]);
  }
  return trimmed(table);
}

/** One row for each part: its figures without its lock and with it. */
export function partTable(results: readonly PartResult[], say: Texts): string {
  const table = new Table({ ...plain('  '), head: [...say.partColumns] });
  for (const part of PART_NAMES) {
    const played = results.filter((result) => result.part === part);
    if (played.length === 0) continue;
    const figures = (withLock: boolean): string => {
      const result = played.find((one) => one.withLock === withLock);
      return result === undefined ? '-' : say.partFigures(result);
    };
    table.push([part, say.partLocks[part], figures(false), figures(true)]);
  }
  return trimmed(table);
}

function inOrder(results: readonly LoadResult[]): LoadResult[] {
  const place = ({ strategy }: LoadResult): number => STRATEGY_NAMES.indexOf(strategy);
  return [...results].sort((a, b) => place(a) - place(b));
}

/** Three digits are enough, and keep the column narrow on a slow machine. */
function milliseconds(value: number): string {
  return value < 100 ? value.toFixed(1) : value.toFixed(0);
}

/** The last column is padded with spaces, which a copy of the text would contain. */
function trimmed(table: Table.Table): string {
  return table.toString().replace(/ +$/gm, '');
}
