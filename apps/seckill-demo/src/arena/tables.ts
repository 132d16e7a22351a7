import Table from 'cli-table3';
import { STRATEGY_NAMES } from '../strategies/strategy.js';
import { FAULT_NAMES } from './fault.js';
import type { FaultName, FaultResult } from './fault.js';
import type { LoadResult } from './load-result.js';
import type { Texts } from './texts.js';

/** No colours and no column widths: what is printed can be piped, pasted and compared. */
const PLAIN = { style: { head: [], border: [], compact: true } };

const NARROWEST_VERDICT = 16;

/** `columns`: the width of the terminal. Where it is too narrow, the verdict is broken into lines. */
export function loadTable(results: readonly LoadResult[], say: Texts, columns = Infinity): string {
  const natural = renderLoads(results, say);
  const border = natural.split('\n', 1)[0] ?? '';
  // Chinese has no spaces to break at; there the terminal may break the line itself.
  if (border.length <= columns || !say.hasSpaces) return natural;
  const verdictWidth = border.length - border.lastIndexOf('┬') - 2;
  const narrower = verdictWidth - (border.length - columns);
  return renderLoads(results, say, Math.max(NARROWEST_VERDICT, narrower));
}

function renderLoads(results: readonly LoadResult[], say: Texts, verdictWidth?: number): string {
  const numbers = say.loadColumns.length - 2;
  const table = new Table({
    ...PLAIN,
    head: [...say.loadColumns],
    colAligns: ['left', ...Array.from({ length: numbers }, () => 'right' as const), 'left'],
    colWidths: [...Array.from({ length: numbers + 1 }, () => null), verdictWidth ?? null],
    wordWrap: true,
  });
  for (const result of inOrder(results)) {
    table.push([
      result.strategy,
      result.processes,
      result.sold,
      result.oversold,
      result.undersold,
      result.ledgerDifference,
      result.refused,
      Math.round(result.ordersPerSecond),
      result.p50Ms.toFixed(1),
      result.p99Ms.toFixed(1),
      say.verdict(result),
    ]);
  }
  return table.toString();
}

export function faultTable(
  results: readonly FaultResult[],
  faults: readonly FaultName[],
  say: Texts,
): string {
  const shown = FAULT_NAMES.filter((fault) => faults.includes(fault));
  const table = new Table({
    ...PLAIN,
    head: [say.faultColumn, ...shown.map((fault) => say.faults[fault])],
  });
  for (const strategy of STRATEGY_NAMES) {
    const cells = results.filter((result) => result.strategy === strategy);
    if (cells.length === 0) continue;
    const outcomeOf = (fault: FaultName) =>
      cells.find((result) => result.fault === fault)?.outcome ?? 'none';
    table.push([strategy, ...shown.map((fault) => say.outcomes[outcomeOf(fault)])]);
  }
  return table.toString();
}

/** By stage, and within a stage by the number of processes. */
function inOrder(results: readonly LoadResult[]): LoadResult[] {
  const place = (result: LoadResult): number => STRATEGY_NAMES.indexOf(result.strategy);
  return [...results].sort((a, b) => place(a) - place(b) || a.processes - b.processes);
}
