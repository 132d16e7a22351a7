import { BREAKAGES, FAULTS, MEASURES } from './measures.mjs';
import { isOutside } from './load-locker.mjs';
import { isPeer, OVER_NODE_REDIS } from './lockers/who.mjs';
import { median } from './statistics.mjs';
import { TARGETS } from './targets.mjs';

/** A peer that leaves more of its callers unserved cannot be the best peer. */
const LARGEST_NEVER_PCT = 5;

/** @typedef {{ median: number, min: number, max: number }} Figure */

/**
 * The median and the spread of several rounds, and the sum of faults.
 * @param {import('./rounds.mjs').Record} record
 * @returns {Record<string, Figure>}
 */
export function figuresOf({ samples }) {
  const names = Object.keys(samples[0] ?? {});
  return Object.fromEntries(
    names.map((name) => {
      const values = samples.map((sample) => sample[name]);
      const middle = FAULTS.includes(name) ? values.reduce((a, b) => a + b, 0) : median(values);
      return [name, { median: middle, min: Math.min(...values), max: Math.max(...values) }];
    }),
  );
}

/**
 * The lockers of one trial with their figures, and the lockers that they are compared with.
 * @param {import('./rounds.mjs').Record[]} records
 */
export function compare(scenario, trial, records) {
  const rows = records
    .filter((record) => record.trial === trial.id)
    .map((record) => ({ ...record, figures: figuresOf(record) }));
  const value = ({ figures }) => figures[trial.headline]?.median ?? NaN;
  const sign = MEASURES[trial.headline].less ? -1 : 1;
  const [best] = rows.filter(isEligible).sort((a, b) => sign * (value(b) - value(a)));
  const raw = rows.find(({ locker }) => locker === scenario.reference);
  const outsiders = rows.filter(({ locker }) => isOutside(locker));
  const ratio = (row, to) => (to ? value(row) / value(to) : NaN);
  return {
    best,
    raw,
    outsiders,
    rows: rows.map((row) => ({
      ...row,
      xRaw: ratio(row, raw),
      xBest: ratio(row, best),
      xOutsiders: outsiders.map((outsider) => ratio(row, outsider)),
    })),
  };
}

function isEligible({ locker, samples, figures }) {
  return isPeer(locker) && samples.length > 0 && !(figures.neverPct?.median > LARGEST_NEVER_PCT);
}

/**
 * @param {(ReturnType<typeof compare> & { scenario: any, trial: any })[]} comparisons
 * @returns {{ trial: string, what: string, target: number, isLess: boolean, value: number, isMet: boolean }[]}
 */
export function verdicts(comparisons) {
  return TARGETS.flatMap((target) => {
    const comparison = comparisons.find(({ trial }) => trial.id === target.trial);
    const ours = comparison?.rows.find(({ locker }) => locker === comparison.scenario.ours);
    if (!ours?.samples.length) return [];
    return 'measure' in target ? [bound(target, ours)] : ratios(target, comparison, ours);
  });
}

function bound({ trial, measure, atMost }, { figures }) {
  return judged({ trial, what: MEASURES[measure].title }, figures[measure].median, atMost, true);
}

function ratios({ trial, raw, peer }, { trial: { headline }, best, raw: rawRow }, ours) {
  const { title, less = false } = MEASURES[headline];
  const found = [];
  if (raw !== undefined && rawRow?.samples.length)
    found.push(judged({ trial, what: `${title} × ${rawRow.label}` }, ours.xRaw, raw, less));
  if (peer !== undefined && best)
    found.push(judged({ trial, what: `${title} × ${best.label}` }, ours.xBest, peer, less));
  return found;
}

function judged(about, value, target, isLess) {
  return { ...about, target, isLess, value, isMet: isLess ? value <= target : value >= target };
}

/** A bare PUBLISH loses a waiter that subscribes late, as on a busy machine: that is its nature. */
const mayNotFail = ({ ours, reference }) =>
  [ours, OVER_NODE_REDIS, reference, 'nothing'].filter((locker) => locker !== 'bare-publish');

/**
 * Faults that must not happen on any machine: our locker, or its reference, did not lock.
 * @param {(ReturnType<typeof compare> & { scenario: any, trial: any })[]} comparisons
 */
export function breakages(comparisons) {
  return comparisons.flatMap(({ scenario, trial, rows }) =>
    rows
      .filter(({ locker }) => mayNotFail(scenario).includes(locker))
      .flatMap(({ label, figures, errors }) => [
        ...errors.map((error) => `${trial.id}, ${label}: ${error}`),
        ...BREAKAGES.filter((name) => figures[name]?.median > 0).map(
          (name) => `${trial.id}, ${label}: ${figures[name].median} ${MEASURES[name].title}`,
        ),
      ]),
  );
}
