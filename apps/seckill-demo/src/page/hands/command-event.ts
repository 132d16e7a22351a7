import type { Command } from '../../arena/step.js';

/** The visitor has pressed the button of a command. */
export class CommandEvent extends Event {
  static readonly type = 'arena-command';

  constructor(readonly command: Command) {
    super(CommandEvent.type, { bubbles: true, composed: true });
  }
}
