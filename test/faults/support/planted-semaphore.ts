import {
  ACQUIRE,
  RELEASE,
  RENEW,
  CANCEL,
} from '../../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import { RELEASE_PERMITS } from '../../../libs/redis-lock/src/primitives/semaphore/capacity.scripts.js';
import { script, type Bug } from './planted.js';

/** As a plain semaphore does it: a release that is sent again counts again. */
export const RELEASE_COUNTS_AGAIN: Bug = script(
  RELEASE,
  /if removed > 0 and free then([^]*?)'incrby', counter, removed\)/,
  `if free then\n  local counted = redis.pcall('incrby', counter, #ids)`,
);

/** A release by id that is sent again finds nothing, and says that nothing was released. */
export const RELEASE_FORGETS_ITS_ANSWER: Bug = script(
  RELEASE_PERMITS,
  'if known then return {1, 1} end',
  '',
);

export const ENTRY_COUNTS_AGAIN: Bug = script(
  ACQUIRE,
  /if added > 0 then([^]*?)'decrby', counter, added\)/,
  `if true then\n  local counted = redis.pcall('decrby', counter, #ids)`,
);

/** Redis refuses the last permits to an owner that has them already. */
export const ENTRY_DOES_NOT_KNOW_ITS_OWN: Bug = script(ACQUIRE, 'missing = missing - 1', '');

export const NOTHING_IS_TAKEN_BACK: Bug = script(
  ACQUIRE,
  'if ends and tonumber(ends) <= now then',
  'if false then',
);

export const EXPIRED_ONES_ARE_DROPPED: Bug = script(
  ACQUIRE,
  `if free then free = redis.call('incrby', counter, some) end`,
  '',
);

export const RENEWAL_CREATES: Bug = script(
  RENEW,
  /if not ends then[^]*?\n {4}end/,
  `if not ends then ends = 0 end`,
);

export const MARKS_ARE_IGNORED: Bug = script(
  ACQUIRE,
  'free - missing >= reserved',
  'free - missing >= 0',
);

export const MARK_IS_LEFT: Bug = script(
  CANCEL,
  `if isMine then redis.call('del', waiting) end`,
  'isMine = false',
);

export const RELEASE_NOTIFIES_NO_WAITER: Bug = script(
  RELEASE,
  /isTold = announce\(.*$/m,
  'isTold = true end',
);
