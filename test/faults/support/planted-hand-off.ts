import {
  RELEASE,
  PASS_IN_ORDER,
  CANCEL,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import { scripts, wallClock, type Bug } from './planted.js';
import { setBackClock } from './set-back-clock.js';

/** The release makes a waiter the owner, even when no client received the message. */
export const DEAD_ARE_GRANTED: Bug = scripts(
  [RELEASE, PASS_IN_ORDER, CANCEL],
  'if receivers ~= 0 then',
  'if true then',
);

export const DEADLINES_BY_WALL_CLOCK: Bug = wallClock(setBackClock);
