import { ASKED, ENTERED, FIELDS, FLOW, LEFT, PLACE } from './visits.mjs';

/** @param {Iterable<number>} values */
export function quantile(values, q) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** @param {number[]} values */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @typedef {{ startedAt: number, endedAt: number, rows: Float64Array, waiting: { flow: number, ms: number }[] }} Report */

/**
 * @param {Report[]} reports the reports of one wave or loop, one from each process
 * @returns {number[][]} the visits of all of them in the order of entering
 */
export function visitsOf(reports) {
  const visits = [];
  for (const { rows } of reports) {
    for (let row = 0; row < rows.length; row += FIELDS)
      visits.push(rows.subarray(row, row + FIELDS));
  }
  return visits.sort((a, b) => a[ENTERED] - b[ENTERED]);
}

/** How often a caller acquired while all places were taken. */
export function overlapsOf(visits, places = 1) {
  const inside = [];
  let overlaps = 0;
  for (const visit of visits) {
    const stillInside = inside.filter((left) => left > visit[ENTERED]);
    if (stillInside.length >= places) overlaps += 1;
    inside.splice(0, inside.length, ...stillInside, visit[LEFT]);
  }
  return overlaps;
}

/** The number of callers that acquired after a later caller of their own process. */
export function overtakenIn(report) {
  let latest = -1;
  let overtaken = 0;
  for (let row = 0; row < report.rows.length; row += FIELDS) {
    const place = report.rows[row + PLACE];
    if (place < latest) overtaken += 1;
    else latest = place;
  }
  return overtaken;
}

/** The waits of callers that acquired; for the others, the time until the end. */
export function waitsOf(reports) {
  const served = visitsOf(reports).map((visit) => visit[ENTERED] - visit[ASKED]);
  const waiting = reports.flatMap((report) => report.waiting.map(({ ms }) => ms));
  const longest = [...served, ...waiting].reduce((most, ms) => Math.max(most, ms), 0);
  return { served, longest };
}

/** The number of turns of each caller. */
export function turnsOf(report, callers) {
  const turns = Array(callers).fill(0);
  for (let row = 0; row < report.rows.length; row += FIELDS) turns[report.rows[row + FLOW]] += 1;
  return turns;
}
