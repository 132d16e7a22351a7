import { fragment } from '../lua/fragment.js';
import { queueKeys as fairQueueKeys } from '../fair-lock/footprint.js';
import { tokenKey } from '../lua/fencing-token.js';
import { queueKeys } from '../lua/hand-off.js';
import { REFUSE_OTHERS } from '../lua/hash-lock.js';
import { numberIn } from '../lua/once-only.js';
import { readersPrefix, turnKeys } from '../read-write-lock/footprint.js';
import { READER, READERS, refuseUnheld, WRITER } from '../read-write-lock/read-write-hash.lua.js';
import { leasesKey, waitingKey } from '../semaphore/footprint.js';
import { EXPIRED, NO_LEASE, NOW } from '../semaphore/permits.scripts.js';
import { defineScript, type RawReply } from '../../core/redis/script.js';

/**
 * A line of the state under a name. The numbers mean:
 * - a holder: its hold count, and the rest of its lease (ms), -1 without an end;
 * - a waiter: how long it has waited, and the time until it is forgotten (ms), -1 if unknown. A
 *   `mark` has the number of its permits instead of the first;
 * - `holders`, and `length` of a queue: their number;
 * - `permits-used`: their number, and the number of those that are over;
 * - `count`: the number of the key;
 * - `token`: none, `what` is the token.
 */
export interface Line {
  readonly what: string;
  readonly who: string;
  readonly first: number;
  readonly second: number;
}

/** The keys of a name. All are in its slot. */
export function keysOf(key: string): [string, ...string[]] {
  const fair = fairQueueKeys(key);
  const [own, writing, turns] = [queueKeys(key), queueKeys(key, 'rwlock'), turnKeys(key)];
  return [
    ...([key, readersPrefix(key), leasesKey(key), tokenKey(key)] as const),
    ...[fair.queue, fair.timeouts, fair.waiting],
    ...[own.queue, own.claims, writing.queue, writing.claims],
    ...[turns.turn, turns.writers, turns.readers, waitingKey(key)],
  ];
}

/** A helper key of another type stores nothing of the lock. Any other refusal ends the script. */
const ASK = `
local refused
local function ask(none, ...)
  local answer = redis.pcall(...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if not string.find(answer.err, 'WRONGTYPE', 1, true) then refused = refused or answer end
  return none
end`;

const ADD = fragment('now', 'add lines rest whole')`
local lines = {}
-- A key may hold a number that no client can read: others may write to it as well.
local function whole(number)
  return string.format('%.0f', math.max(-1, math.min(tonumber(number) or 0, 9007199254740991)))
end
local function add(what, who, first, second)
  for _, part in ipairs({what, who, whole(first), whole(second)}) do lines[#lines + 1] = part end
end
-- The rest of a time (ms) that Redis has as its end.
local function rest(ends) return math.max(0, ends - now) end`;

/**
 * Holders of a hash. A dead reader is shown: the next script that checks the readers removes it.
 */
const HASH = `
local left = redis.call('pttl', lock)
local fields = ask(-1, 'hlen', lock)
local mode = fields > 0 and redis.call('hget', lock, 'mode')
local isFair = ask(0, 'llen', fairQueue) > 0
if mode == 'read' or mode == 'write' then
  ${refuseUnheld()}
  ${READERS}
  local all, count = redis.call('hgetall', lock), 0
  for i = 1, #all, 2 do
    local isWriter = string.find(all[i], ${WRITER})
    if isWriter or string.find(all[i], ${READER}) then
      count = count + 1
      if count <= most and isWriter then add('write', string.sub(all[i], 1, -7), all[i + 1], left)
      elseif count <= most then add('read', all[i], all[i + 1], (leaseOf(all[i], all[i + 1]))) end
    end
  end
  add('holders', '', count, 0)
elseif fields > 0 then
  ${REFUSE_OTHERS}
  add(isFair and 'fair' or 'lock', holder, redis.call('hget', lock, holder), left)
  add('holders', '', 1, 0)
elseif fields < 0 then
  ${numberIn('lock', 'number')}
  lines = {'count', '', string.format('%.0f', number), '0'}
end`;

/** The permits that end first, and are not over. */
const PERMITS = `
local used = ask(0, 'zcard', leases)
if used > 0 then
  local expired = ${EXPIRED}
  local held = redis.call('zrange', leases, expired, expired + most - 1, 'withscores')
  for i = 1, #held, 2 do
    local id = string.gsub(held[i], '.', function(byte)
      return string.format('%02x', string.byte(byte))
    end)
    local ends = tonumber(held[i + 1])
    add('semaphore', id, 1, ends >= ${NO_LEASE} and -1 or rest(ends))
  end
  add('permits-used', '', used, expired)
end`;

/** Waiters, each queue with its length. Those of a hash have their own times in a second key. */
const WAITERS = `
local function line(what, queue, waiter)
  local length = ask(0, 'zcard', queue)
  if length == 0 then return end
  add('length', what, length, 0)
  local first = redis.call('zrange', queue, 0, most - 1, 'withscores')
  for i = 1, #first, 2 do add(what, first[i], waiter(first[i], tonumber(first[i + 1]))) end
end
local function claimIn(claims)
  return function(process, since)
    local claim = ask(false, 'hget', claims, process)
    local aliveUntil = claim and string.match(claim, '^%d+ (%d+) ')
    return math.max(0, now - since / 1000), aliveUntil and rest(aliveUntil) or -1
  end
end
local function remembered(_, till) return -1, rest(till) end
if isFair then
  add('length', 'fair-queue', redis.call('llen', fairQueue), 0)
  for _, owner in ipairs(redis.call('lrange', fairQueue, 0, most - 1)) do
    local record = ask(false, 'hget', fairWaiting, owner) or ''
    local life = ask(false, 'hget', fairWaiting, string.match(owner, '^[^:]*')) or ''
    local since = string.match(record, '^[%d+]+ (%d+)')
    -- A Java thread has only the time after which Redisson removes it.
    local ends = since and string.match(life, '^%d+') or ask(false, 'zscore', fairTimeouts, owner)
    local waited = since and math.max(0, now - since / 1000) or -1
    add('fair-queue', owner, waited, ends and rest(tonumber(ends)) or -1)
  end
end
line('processes', queue, claimIn(claims))
line('writing-processes', writeQueue, claimIn(writeClaims))
line('turn', turn, remembered)
line('writers', writers, remembered)
line('readers', readers, remembered)
local id, wanted = string.match(ask(false, 'get', mark) or '', '^(%x+):(%d+)$')
if id then
  add('length', 'mark', 1, 0)
  add('mark', id, wanted, redis.call('pttl', mark))
end`;

/** Everything that Redis stores under a name, read in one step. Changes nothing. */
export const INSPECT_NAME = defineScript({
  name: 'monitor.inspect',
  keys: [
    ...(['lock', 'prefix', 'leases', 'token', 'fairQueue', 'fairTimeouts', 'fairWaiting'] as const),
    ...(['queue', 'claims', 'writeQueue', 'writeClaims', 'turn', 'writers', 'readers'] as const),
    'mark',
  ],
  args: ['most'],
  numbers: ['most'],
  body: `
${NOW}
${ASK}
${ADD}
${HASH}
${PERMITS}
${WAITERS}
local fence = ask(false, 'get', token)
if fence then add('token', fence, 0, 0) end
return refused or lines`,
  reply: linesIn,
});

function linesIn(raw: RawReply): readonly Line[] | undefined {
  if (typeof raw !== 'object' || raw.length % 4 !== 0) return undefined;
  const lines: Line[] = [];
  for (let i = 0; i < raw.length; i += 4) {
    const [what = '', who = '', first, second] = raw.slice(i, i + 4);
    lines.push({
      what: String(what),
      who: String(who),
      first: Number(first),
      second: Number(second),
    });
  }
  return lines;
}
