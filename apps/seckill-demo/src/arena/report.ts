import { mismatchesOf } from './expected-matrix.js';
import type { FaultResult } from './fault.js';
import type { Knobs } from './knobs.js';
import type { LoadResult } from './load-result.js';
import { faultTable, loadTable } from './tables.js';
import { texts } from './texts.js';

/** All that one run of the arena measured. */
export interface Report {
  readonly loads: readonly LoadResult[];
  readonly faults: readonly FaultResult[];
  readonly tookMs: number;
}

export function reportText({ loads, faults }: Report, knobs: Knobs): string {
  const say = texts[knobs.language];
  const parts = [
    `${say.loadTitle(knobs.stock, knobs.buyers)}\n${loadTable(loads, say)}`,
    say.loadNotes,
  ];
  if (faults.length > 0) {
    const table = faultTable(faults, knobs.faults, say);
    parts.push(`${say.faultTitle}\n${table}`, say.faultNotes);
  }
  return parts.join('\n\n');
}

export function reportJson(report: Report, knobs: Knobs): string {
  const { stock, buyers, instances } = knobs;
  const mismatches = mismatchesOf(report.loads, report.faults);
  return JSON.stringify({ stock, buyers, instances, ...report, mismatches }, null, 2);
}

export function checkText({ loads, faults, tookMs }: Report, knobs: Knobs): string {
  const say = texts[knobs.language];
  const mismatches = mismatchesOf(loads, faults);
  const seconds = (tookMs / 1_000).toFixed(1);
  if (mismatches.length === 0) return say.checkPassed(loads.length + faults.length, seconds);
  const lines = mismatches.map((mismatch) => say.mismatch(mismatch));
  return [say.checkFailed(mismatches.length, seconds), ...lines].join('\n');
}
