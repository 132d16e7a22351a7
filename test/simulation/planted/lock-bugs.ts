import { Hold, type LeaseListener } from '../../../libs/redis-lock/src/core/holding/hold.js';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  RENEW,
} from '../../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import {
  ACQUIRE_OR_QUEUE,
  CANCEL,
  PASS,
  PASS_IN_ORDER,
  RELEASE,
  RELEASE_LATER,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import * as known from '../../faults/support/planted.js';
import { member, script, scripts } from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

const ENTRIES = [ACQUIRE_OR_QUEUE, ACQUIRE_OR_QUEUE.fenced];

/** Mistakes of the scripts and holds of a lock, by what is wrong. */
export const LOCK_BUGS: Record<string, Bug> = {
  'an entry does not look who is in': known.ENTRY_WHILE_OTHERS_ARE_IN,
  'an entry that is sent again counts again': known.ENTRY_COUNTS_UP,
  'an entry without a TTL': scripts(
    ENTRIES,
    `redis.pcall('pexpire', lock, leaseMs)`,
    `redis.pcall('exists', lock)`,
  ),
  'an attempt that does not wait is refused': scripts(
    [ACQUIRE, ACQUIRE.fenced],
    'local held',
    'if left == -2 then return {1000} end local held',
  ),
  'a nested entry without a TTL': known.NESTED_ENTRY_WITHOUT_TTL,
  'a nested entry keeps the count': scripts(
    [ACQUIRE_NESTED, ACQUIRE_NESTED.fenced],
    `if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end`,
    '',
  ),
  'a nested entry creates the lock': scripts(
    [ACQUIRE_NESTED, ACQUIRE_NESTED.fenced],
    'if not held then return 0 end',
    `if not held then redis.call('hset', lock, owner, 1) held = '1' end`,
  ),
  'a nested release takes one off': known.RELEASE_COUNTS_DOWN,
  'a nested release frees all holds': known.RELEASE_FREES_ALL_HOLDS,
  'a release of any owner': known.RELEASE_OF_ANY_OWNER,
  'a release hides the loss': known.RELEASE_HIDES_THE_LOSS,
  'a release with minHoldMs frees at once': script(
    RELEASE_LATER,
    `redis.call('pexpire', lock, keepMs)`,
    `redis.call('del', lock)`,
  ),
  'a release frees the lock and tells none of the waiters': script(
    RELEASE,
    'leaveQueue(owner, true)',
    'if true then return 1 end',
  ),
  'a cut is not noticed': known.CUTS_UNNOTICED,
  'a renewal creates the lock': known.RENEWAL_CREATES,
  'a renewal of any owner': known.RENEWAL_OF_ANY_OWNER,
  'a renewal forgets the lease': script(
    RENEW,
    `redis.call('pexpire', KEYS[i], leaseMs)`,
    `redis.call('pttl', KEYS[i])`,
  ),
  'a renewal goes on after a loss': member(Hold.prototype, 'lose', {
    value(this: Hold) {
      return this.lossBy('gone');
    },
  }),
  'a token is the same again': known.TOKEN_STAYS,
  'a token has no lower bound': scripts(
    [ACQUIRE.fenced, ...ENTRIES.slice(1)],
    'math.max(counter + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))',
    'counter + 1',
  ),
  'a waiter does not poll': known.NO_POLL,
  'a late grant is kept': known.LATE_GRANT_KEPT,
  'siblings take no turns': known.SIBLINGS_TAKE_NO_TURNS,
  'no look at the clock': known.NO_LOOK_AT_THE_CLOCK,
  'a suspension is not noticed': member(Hold.prototype, 'isSuspended', { value: () => false }),
  'a lease is not shortened for other clocks': member(Hold.prototype, 'confirm', {
    value(this: Hold, sentAt: number, leaseTimeMs: number, lead?: number) {
      return confirm.call(this, sentAt + leaseTimeMs * 0.01 + 2, leaseTimeMs, lead);
    },
  }),
  'a lease that is released is renewed on': member(Hold.prototype, 'drop', {
    value(this: Hold, lease: LeaseListener) {
      const { watchedUntil } = this;
      drop.call(this, lease);
      this.watchedUntil = watchedUntil;
    },
  }),
  'maxHoldMs is forgotten': member(Hold.prototype, 'isWatched', {
    value(this: Hold) {
      return this.watchdogLeaseMs > 0 || this.owedLeaseMs > 0;
    },
  }),
  'the dead are granted': scripts(
    [RELEASE, PASS_IN_ORDER, CANCEL],
    'if receivers ~= 0 then',
    'if true then',
  ),
  'a message without its grant': scripts(
    [RELEASE, PASS_IN_ORDER, CANCEL],
    /if not give\(process \.\. ':' \.\. number, .*$/m,
    '',
  ),
  'a grant by message has no TTL': scripts(
    [RELEASE, PASS_IN_ORDER, CANCEL],
    `redis.pcall('pexpire', lock, ms)`,
    `redis.pcall('exists', lock)`,
  ),
  'a grant by message has a count of 0': scripts(
    [RELEASE, PASS_IN_ORDER, CANCEL],
    `mode == 's' and '1' or '0'`,
    `'0'`,
  ),
  'a hand-over keeps the old lease': script(PASS, `redis.call('pexpire', lock, leaseMs)`, ''),
  'a hand-over leaves the former owner in': script(PASS, `redis.pcall('hdel', lock, owner)`, 'nil'),
  'a cancel forgets the grant': script(CANCEL, `redis.pcall('hget', lock, owner)`, 'nil'),
  'a process that is queued goes to the end': scripts([...ENTRIES, PASS_IN_ORDER], "'lt', ", ''),
  'the last process is next': scripts(
    [RELEASE, PASS_IN_ORDER, CANCEL],
    `redis.call('zpopmin', queue)`,
    `(function()
  local last = redis.call('zrange', queue, -1, -1)
  if last[1] then redis.call('zrem', queue, last[1]) end
  return last
end)()`,
  ),
};

const { confirm, drop } = Hold.prototype;
