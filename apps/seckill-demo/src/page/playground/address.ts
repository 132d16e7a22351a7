import { fromQuery, toQuery } from '../../playground/experiment.js';
import type { Experiment } from '../../playground/experiment.js';

const PLAYGROUND = '#/playground';

/** A visitor without an experiment first sees a holder that freezes: two callers sell one piece. */
const FAILURE = 'strategy=lua-release&seed=15&leaseMs=150&faults=freeze-1-16.79-225';

/** The experiment of the page's address. Undefined if the address leads elsewhere. */
export function experimentOf({ hash }: { readonly hash: string }): Experiment | undefined {
  const [place, query = FAILURE] = hash.split('?');
  return place === PLAYGROUND ? fromQuery(query) : undefined;
}

export function addressOf(experiment: Experiment): string {
  return `${PLAYGROUND}?${toQuery(experiment)}`;
}
