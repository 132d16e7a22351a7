import { html } from 'lit';
import type { TemplateResult } from 'lit';
import type { Command } from '../../arena/step.js';
import type { ProcessState } from '../state/processes.js';

/** The outcome of the last command. It stands beside the button of that command. */
export interface Said {
  readonly place: Place;
  readonly text: string;
  readonly isHarm: boolean;
}

/** The box of a button: a process has its number on the page. */
export type Place = number | 'holder' | 'redis' | 'buyer' | 'top';

export function placeOf(command: Command, processes: readonly ProcessState[]): Place {
  switch (command.kind) {
    case 'kill':
    case 'freeze':
    case 'cut':
    case 'block': {
      const index = processes.findIndex(({ process }) => process === command.process);
      return index < 0 ? 'top' : index + 1;
    }
    case 'kill-holder':
    case 'freeze-holder':
      return 'holder';
    case 'redis-pause':
    case 'redis-restart':
    case 'redis-fail-over':
      return 'redis';
    case 'skip':
      return 'top';
    default:
      return 'buyer';
  }
}

/** Always there: a screen reader reads only changes of a region that it knows. */
export function saidAt(place: Place, said: Said | undefined): TemplateResult {
  const here = said?.place === place ? said : undefined;
  return html`<p class="said small ${here?.isHarm === true ? 'harm' : 'quiet'}" role="status">
    ${here?.text ?? ''}
  </p>`;
}
