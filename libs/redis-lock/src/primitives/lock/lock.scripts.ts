import { refusal, releaseAnswer } from '../../core/lua/answers.js';
import { fencedPair } from '../../core/lua/fencing-token.js';
import {
  announceUncontended,
  CHECK_CLAIM,
  HASH_LOCK,
  handOver,
  handOverOrAnnounce,
  LEAVE_PLACE,
  LINE,
  LINE_KEYS,
  LOOK_AT_LINE,
  PASS_ARGS,
  PASS_IN_ORDER_ARGS,
  passOn,
  SERVER_TIME,
  STAND_IN_LINE,
  refuseAbsent,
  takeTurns,
} from '../../core/lua/hand-off.js';
import { STANDING_BACK } from '../../core/lua/outsiders.js';
import { CHECK_LEASE, CREATE, LOOK, REFUSE_OTHERS } from '../../core/lua/hash-lock.js';
import { defineScript } from '../../core/redis/script.js';

/**
 * The lock on the wire is Redisson's RLock, as core/lua/hash-lock.ts has it; whoever waits for long enough
 * stands in the line of core/lua/hand-off.ts, and gets it from whoever leaves.
 */

/**
 * Free → this owner's; handed to it → entered. Else the process stands in line. An owner that entered
 * more than once since this was first sent is left alone.
 */
export const ACQUIRE_OR_QUEUE = fencedPair({
  name: 'lock.acquire-or-queue',
  keys: ['lock', ...LINE_KEYS],
  args: ['owner', 'leaseMs', 'claim'],
  isNew: "not held or held == '0'",
  body: (token, granted) => `
${CHECK_LEASE}
${CHECK_CLAIM}
${SERVER_TIME}
${LINE}
${STAND_IN_LINE}
${STANDING_BACK}
${LOOK}
if not held then
  if left then
    ${REFUSE_OTHERS}
  end
  local standBackMs = standingBack(left)
  if left or standBackMs then
    standInLine(owner)
    return ${refusal('left', 'standBackMs')}
  end
end
${token}
if not held then
  ${CREATE}
  takeBack()
else
  -- Last what Redis refuses with its memory full, unless something else was written before.
  if left < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end
  if held == '0' then redis.call('hset', lock, owner, '1') end
end
leaveLine(processOf(owner))
return ${granted}`,
});

/** Ours → free and announced, or of the process that has waited longest. */
export const RELEASE = defineScript({
  name: 'lock.release',
  keys: ['lock', ...LINE_KEYS],
  args: ['owner', 'channel', 'openEveryMs'],
  numbers: ['openEveryMs'],
  channels: ['channel'],
  body: `
if not redis.call('hget', lock, owner) then return 'absent' end
${LOOK_AT_LINE}
redis.call('del', lock)
${announceUncontended(HASH_LOCK)}
${SERVER_TIME}
${LINE}
${LEAVE_PLACE}
${handOver(HASH_LOCK)}
${handOverOrAnnounce(HASH_LOCK)}`,
  reply: releaseAnswer,
});

/** Ours → ours for so long yet, and then free. Twice, it begins to count anew. */
export const RELEASE_LATER = defineScript({
  name: 'lock.release-later',
  keys: ['lock'],
  args: ['owner', 'keepMs', 'channel'],
  numbers: ['keepMs'],
  channels: ['channel'],
  body: `
if redis.call('hexists', lock, owner) == 0 then return 'absent' end
local left = redis.call('pttl', lock)
redis.call('pexpire', lock, keepMs)
-- Whoever was refused waits for as long as the lease was to last.
if left <= keepMs then return 'done' end
return announce(channel, '0') and 'done' or 'unannounced'`,
  reply: releaseAnswer,
});

/**
 * Ours → the successor's; for one that enters by itself with the count that says that it has not yet. Where
 * the user lacks a right for that, the release is done all the same.
 */
export const PASS = defineScript({
  name: 'lock.pass',
  keys: ['lock'],
  args: PASS_ARGS,
  body: `
${refuseAbsent(HASH_LOCK)}
${passOn(HASH_LOCK)}`,
  reply: releaseAnswer,
});

/** Ours → of the process that has waited longest, and the successor in line; the successor's, if none waits. */
export const PASS_IN_ORDER = defineScript({
  name: 'lock.pass-in-order',
  keys: ['lock', ...LINE_KEYS],
  args: PASS_IN_ORDER_ARGS,
  numbers: ['waitedMs', 'callers', 'openEveryMs'],
  channels: ['channel'],
  body: `
${CHECK_CLAIM}
${refuseAbsent(HASH_LOCK)}
${SERVER_TIME}
${LINE}
${STAND_IN_LINE}
local leftMs = redis.pcall('pttl', lock)
${handOver(HASH_LOCK)}
local since = serverTime() - waitedMs * 1000
redis.call('del', lock)
${takeTurns(HASH_LOCK)}`,
  reply: releaseAnswer,
});

/** One that has given up: leaves the line, and passes on what it was granted. */
export const CANCEL = defineScript({
  name: 'lock.cancel',
  keys: ['lock', ...LINE_KEYS],
  args: ['owner', 'channel', 'openEveryMs'],
  numbers: ['openEveryMs'],
  channels: ['channel'],
  body: `
${SERVER_TIME}
${LINE}
${LOOK_AT_LINE}
${LEAVE_PLACE}
${handOver(HASH_LOCK)}
local held = redis.pcall('hget', lock, owner)
-- A key that holds something else by now is not ours to give back.
if type(held) == 'table' and not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
local isOurs = type(held) == 'string'
-- First what a user may lack the right to: then nothing is done.
if isOurs then redis.call('del', lock) end
leavePlace(owner)
if not isOurs then return 'absent' end
${announceUncontended(HASH_LOCK)}
${handOverOrAnnounce(HASH_LOCK)}`,
  reply: releaseAnswer,
});
