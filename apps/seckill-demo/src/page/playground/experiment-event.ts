import type { Experiment } from '../../playground/experiment.js';

/** The visitor wants another experiment. */
export class ExperimentEvent extends Event {
  static readonly type = 'experiment';

  /** @param isPlayed from its start */
  constructor(
    readonly experiment: Experiment,
    readonly isPlayed = false,
  ) {
    super(ExperimentEvent.type, { bubbles: true, composed: true });
  }
}
