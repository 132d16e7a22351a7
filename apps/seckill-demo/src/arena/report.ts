import { cellsOf, mismatchesOf } from './expected-matrix.js';
import type { Results } from './expected-matrix.js';
import type { Knobs } from './knobs.js';
import { faultTable, loadTable, partTable, strategyLegend } from './tables.js';
import { texts } from './texts.js';

/** All measures of one run of the arena. */
export interface Report extends Results {
  readonly tookMs: number;
}

export function reportText({ loads, faults, parts }: Report, knobs: Knobs): string {
  const say = texts[knobs.language];
  const sections = [
    `${say.loadTitle(knobs.stock, knobs.buyers)}\n${loadTable(loads, say)}`,
    say.loadNotes,
    `${say.strategyTitle}\n${strategyLegend(loads, say)}`,
  ];
  if (faults.length > 0) {
    const table = faultTable(faults, knobs.faults, say);
    sections.push(`${say.faultTitle}\n${table}`, say.faultNotes);
  }
  if (parts.length > 0) {
    sections.push(`${say.partTitle}\n${partTable(parts, say)}`, say.partNotes);
  }
  return sections.join('\n\n');
}

export function reportJson(report: Report, knobs: Knobs): string {
  const { stock, buyers, instances } = knobs;
  const mismatches = mismatchesOf(report);
  return JSON.stringify({ stock, buyers, instances, ...report, mismatches }, null, 2);
}

export function checkText(report: Report, knobs: Knobs): string {
  const say = texts[knobs.language];
  const mismatches = mismatchesOf(report);
  const seconds = (report.tookMs / 1_000).toFixed(1);
  if (mismatches.length === 0) return say.checkPassed(cellsOf(report), seconds);
  const lines = mismatches.map((mismatch) => say.mismatch(mismatch));
  return [say.checkFailed(mismatches.length, seconds), ...lines].join('\n');
}
