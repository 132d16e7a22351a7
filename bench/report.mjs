import { MEASURES } from './measures.mjs';
import { table } from './table.mjs';

/** @param {(ReturnType<typeof import('./verdicts.mjs').compare> & { scenario: any, trial: any })[]} comparisons */
export function tables(comparisons) {
  return comparisons.map(({ scenario, trial, rows, ...against }) => {
    const lines = table(
      titles(trial, against),
      rows.map((row) => cells(trial, row, against)),
    );
    return [`${scenario.title}: ${trial.title}`, '', lines, ...notes(rows)].join('\n');
  });
}

function titles({ headline, columns }, { raw, best, outsiders }) {
  const named = outsiders.map(({ label }) => `× ${label}`);
  const against = [raw && `× ${raw.label}`, best && '× best peer', ...named].filter(Boolean);
  const further = columns.map((name) => MEASURES[name].title);
  return ['', MEASURES[headline].title, 'min to max', ...against, ...further];
}

function cells({ headline, columns }, row, { raw, best }) {
  const { label, samples, figures, xRaw, xBest, xOutsiders } = row;
  const name = row.locker === best?.locker ? `${label} ★` : label;
  if (samples.length === 0) return [name, 'failed'];
  const { median, min, max } = figures[headline];
  const spread = `${shown(headline, min)} to ${shown(headline, max)}`;
  const against = [raw && factor(xRaw), best && factor(xBest), ...xOutsiders.map(factor)].filter(
    Boolean,
  );
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

const STEADY = 'steady';
const STATES = ['fresh', STEADY, 'after a collection', 'per operation'];

/**
 * The headlines of all trials, by the state of the processes.
 * @param {(ReturnType<typeof import('./verdicts.mjs').compare> & { scenario: any, trial: any })[]} locks the comparisons with `raw`
 */
export function stateTable(locks) {
  const labels = [...new Set(locks.flatMap(({ rows }) => rows.map(({ label }) => label)))];
  const rows = STATES.flatMap((state) =>
    locks
      .filter(({ scenario }) => (scenario.state ?? STEADY) === state)
      .map(({ trial, rows: lockers }) => [
        state,
        trial.id,
        MEASURES[trial.headline].title,
        ...labels.map((label) => headlineOf(trial, lockers, label)),
      ]),
  );
  return table(['state', 'trial', 'measure', ...labels], rows);
}

function headlineOf({ headline }, rows, label) {
  const row = rows.find((each) => each.label === label);
  return shown(headline, row?.figures[headline]?.median);
}
