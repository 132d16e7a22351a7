import { CLASSES, classOf, type Class, type Outcome } from './outcome.js';

type Counts = Record<Class, number>;

const TITLES = ['script', 'mutants', ...CLASSES, 'found', 'of those that differ'];

/** The score of each script, and of all, in a table. */
export function tableOf(outcomes: readonly Outcome[]): string {
  const rows = new Map<string, Counts>();
  const all = none();
  for (const outcome of outcomes) {
    const script = outcome.name.split(' ')[0] ?? '';
    const counts = rows.get(script) ?? none();
    rows.set(script, counts);
    for (const one of [counts, all]) one[classOf(outcome)] += 1;
  }
  const cells = [...rows, ['in all', all] as const].map(([script, counts]) =>
    rowOf(script, counts),
  );
  return [TITLES, ...cells].map((row) => padded(row)).join('\n');
}

const none = () => Object.fromEntries(CLASSES.map((one) => [one, 0])) as Counts;

function rowOf(script: string, counts: Counts): string[] {
  const sum = CLASSES.reduce((total, one) => total + counts[one], 0);
  const found = counts.states + counts.calls + counts.simulation;
  const numbers = [sum, ...CLASSES.map((one) => counts[one])].map(String);
  return [script, ...numbers, percent(found, sum), percent(found, sum - counts.same)];
}

function percent(part: number, of: number): string {
  return of === 0 ? '-' : `${((100 * part) / of).toFixed(1)} %`;
}

function padded([first = '', ...rest]: readonly string[]): string {
  const widths = [8, 8, 7, 11, 8, 8, 10, 7, 9, 21];
  return first.padEnd(36) + rest.map((cell, i) => cell.padStart(widths[i] ?? 8)).join('');
}
