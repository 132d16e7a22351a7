import { MEASURES } from './measures.mjs';
import { table } from './table.mjs';

/** @param {(ReturnType<typeof import('./verdicts.mjs').compare> & { scenario: any, trial: any })[]} comparisons */
export function tables(comparisons) {
  return comparisons.map(({ scenario, trial, rows, raw, best }) => {
    const lines = table(
      titles(trial, raw, best),
      rows.map((row) => cells(trial, row, { raw, best })),
    );
    return [`${scenario.title}: ${trial.title}`, '', lines, ...notes(rows)].join('\n');
  });
}

function titles({ headline, columns }, raw, best) {
  const against = [raw && `× ${raw.label}`, best && '× best peer'].filter(Boolean);
  const further = columns.map((name) => MEASURES[name].title);
  return ['', MEASURES[headline].title, 'min to max', ...against, ...further];
}

function cells({ headline, columns }, row, { raw, best }) {
  const { label, samples, figures, xRaw, xBest } = row;
  const name = row.locker === best?.locker ? `${label} ★` : label;
  if (samples.length === 0) return [name, 'failed'];
  const { median, min, max } = figures[headline];
  const spread = `${shown(headline, min)} to ${shown(headline, max)}`;
  const against = [raw && factor(xRaw), best && factor(xBest)].filter(Boolean);
  const further = columns.map((column) => shown(column, figures[column].median));
  return [name, shown(headline, median), spread, ...against, ...further];
}

function notes(rows) {
  const said = rows.flatMap(({ label, errors }) =>
    [...new Set(errors)].map((error) => `${label} failed: ${error}`),
  );
  return said.length > 0 ? ['', ...said] : [];
}

/** @param {ReturnType<typeof import('./verdicts.mjs').verdicts>} judged */
export function targetTable(judged) {
  const rows = judged.map(({ trial, what, target, isLess, value, isMet }) => [
    trial,
    what,
    `${isLess ? '≤' : '≥'} ${target}`,
    factor(value),
    isMet ? '✓' : `✗ ${missedBy(value, target)}`,
  ]);
  return table(['', 'measure', 'target', 'measured', ''], rows);
}

function missedBy(value, target) {
  if (target === 0 || Number.isNaN(value)) return 'missed';
  return `missed by ${Math.abs((100 * (value - target)) / target).toFixed(0)} %`;
}

function shown(measure, value) {
  if (value === undefined || Number.isNaN(value)) return '—';
  const { digits } = MEASURES[measure];
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

const factor = (value) =>
  Number.isNaN(value) ? '—' : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
