import { cellOf } from './cell.js';
import type { Mismatch } from './cell.js';
import type { FaultResult } from './fault.js';
import type { Options } from '../options/parse.mjs';
import type { LoadResult } from './load-result.js';
import type { PartResult } from './parts/part.js';
import { PART_NAMES } from './parts/part.js';
import type { CellEnded } from './step.js';
import type { Steps } from './steps.js';
import { costTable, faultTable, loadTable, partTable, strategyLegend } from './tables.js';
import { texts } from './languages.js';

/** All results of one run of the arena. */
export interface Report {
  readonly loads: readonly LoadResult[];
  readonly faults: readonly FaultResult[];
  readonly parts: readonly PartResult[];
  /** The number of cells with a published outcome. */
  readonly compared: number;
  /** The number of cells that are measured only. */
  readonly measured: number;
  /** Also an expected failure that did not show: the demo then demonstrates nothing. */
  readonly mismatches: readonly Mismatch[];
  readonly tookMs: number;
}

/** Resolves when the run or its steps have ended. */
export async function reportOf(steps: Steps): Promise<Report> {
  const ended: CellEnded[] = [];
  let tookMs = 0;
  for await (const step of steps) {
    if (step.kind === 'cell-ended') ended.push(step);
    if (step.kind !== 'run-ended') continue;
    tookMs = step.tookMs;
    break;
  }
  return reportFrom(ended, tookMs);
}

export function reportFrom(ended: readonly CellEnded[], tookMs: number): Report {
  const played = ended.filter(({ result }) => result.kind !== 'duel');
  const results = played.map(({ result }) => result);
  const place = ({ part, withLock }: PartResult): number =>
    2 * PART_NAMES.indexOf(part) + Number(withLock);
  const compared = played.filter(({ expected }) => expected !== undefined);
  return {
    loads: results.filter(
      (result): result is LoadResult & { kind: 'rush' } => result.kind === 'rush',
    ),
    faults: results.filter((result) => result.kind === 'fault'),
    parts: results.filter((result) => result.kind === 'part').sort((a, b) => place(a) - place(b)),
    compared: compared.length,
    measured: played.length - compared.length,
    mismatches: compared.flatMap(({ result, outcome, expected }) =>
      expected === undefined || outcome === expected
        ? []
        : [{ cell: cellOf(result), expected, outcome }],
    ),
    tookMs,
  };
}

export function reportText({ loads, faults, parts }: Report, options: Options): string {
  const say = texts[options.language];
  const sections = [
    `${say.loadTitle(options.stock, options.buyers)}\n${loadTable(loads, say)}`,
    say.loadNotes,
    `${say.costTitle}\n${costTable(loads, say)}`,
    say.costNotes,
    `${say.strategyTitle}\n${strategyLegend(loads, say)}`,
  ];
  if (faults.length > 0) {
    const table = faultTable(faults, options.faults, say);
    sections.push(`${say.faultTitle}\n${table}`, say.faultNotes);
  }
  if (parts.length > 0) {
    sections.push(`${say.partTitle}\n${partTable(parts, say)}`, say.partNotes);
  }
  return sections.join('\n\n');
}

export function reportJson(report: Report, options: Options): string {
  const { stock, buyers, instances } = options;
  return JSON.stringify({ stock, buyers, instances, ...report }, null, 2);
}

export function checkText(report: Report, options: Options): string {
  const say = texts[options.language];
  const { mismatches, compared, measured } = report;
  const seconds = (report.tookMs / 1_000).toFixed(1);
  if (mismatches.length === 0) return say.checkPassed(compared, measured, seconds);
  const lines = mismatches.map((mismatch) => say.mismatch(mismatch));
  return [say.checkFailed(mismatches.length, seconds), ...lines].join('\n');
}
