import {
  ACQUIRE as TAKE,
  CANCEL as UNDO,
  CHANGE,
} from '../../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.scripts.js';
import {
  COUNT_DOWN,
  GET_COUNT,
} from '../../../libs/redis-lock/src/primitives/count-down-latch/latch.scripts.js';
import {
  ACQUIRE,
  CANCEL,
  RELEASE,
  RENEW,
} from '../../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import * as known from '../../faults/support/planted-semaphore.js';
import { NO_POLL, script } from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

/** Mistakes of permits with leases, by what is wrong. */
export const SEMAPHORE_BUGS: Record<string, Bug> = {
  'a release that is sent again counts again': known.RELEASE_COUNTS_AGAIN,
  'an entry that is sent again counts again': known.ENTRY_COUNTS_AGAIN,
  'the permits of the dead are dropped': known.EXPIRED_ONES_ARE_DROPPED,
  'large requests are passed': known.MARKS_ARE_IGNORED,
  'the mark of a caller that has left stays': known.MARK_IS_LEFT,
  'a release tells waiters nothing': known.RELEASE_NOTIFIES_NO_WAITER,
  'an entry takes more than there are': script(
    ACQUIRE,
    'free - missing >= reserved',
    'free >= 1 and free >= reserved',
  ),
  'a renewal forgets the lease': script(RENEW, `if isHeld and #entries > 0 then`, 'if false then'),
  'a release keeps the permits': script(
    RELEASE,
    `redis.pcall('incrby', counter, removed)`,
    `redis.pcall('incrby', counter, 0)`,
  ),
  'a cancel keeps the permits': script(
    CANCEL,
    `local removed = redis.call('zrem', leases, unpack(ids))`,
    'local removed = 0',
  ),
  'the permits of the dead are not taken back': known.NOTHING_IS_TAKEN_BACK,
};

const DEAF = ['if known then return', 'if false then return'] as const;

/** Mistakes of permits without leases. */
export const COUNTING_BUGS: Record<string, Bug> = {
  'an acquisition that is sent again counts again': script(TAKE, ...DEAF),
  'a release that is sent again counts again': script(CHANGE, ...DEAF),
  'an acquisition takes more than there are': script(
    TAKE,
    'if free < permits then',
    'if free < 1 then',
  ),
  'a caller that leaves keeps its permits': script(
    UNDO,
    `once('cancelled', 'incrby', counter, taken)`,
    `once('cancelled')`,
  ),
  'a cancel that is sent again counts again': script(
    UNDO,
    `once('cancelled', 'incrby', counter, taken) or`,
    `redis.call('incrby', counter, taken) and`,
  ),
  'a waiter does not poll': NO_POLL,
};

/** Mistakes of a latch. */
export const LATCH_BUGS: Record<string, Bug> = {
  'a count-down that is sent again counts again': script(COUNT_DOWN, ...DEAF),
  'the latch opens one too early': script(
    GET_COUNT,
    'return math.max(0, left or 0)',
    'return math.max(0, (left or 1) - 1)',
  ),
  'the last count-down tells waiters nothing': script(
    COUNT_DOWN,
    `return {0, announce(channel, '0') and 1 or 0}`,
    'return {0, 1}',
  ),
  'the last count-down leaves the latch': script(
    COUNT_DOWN,
    'if left > 1 then',
    'if left > 0 then',
  ),
  'a waiter does not poll': NO_POLL,
};
