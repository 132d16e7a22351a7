import { defineScript } from '../../core/redis/script.js';

/** `unpack` of Lua takes at most 8,000 values. */
export const MOST_ARGUMENTS = 7_000;

const LARGEST_TOKEN = String(Number.MAX_SAFE_INTEGER);

/** `unmet`: the condition of SET, NX or XX, was not met. */
const OUTCOMES = ['overtaken', 'written', 'unmet'] as const;

/**
 * Checks the newest token and writes, in one step. An equal token is that of the same holder, which
 * may write again. The arguments of the command follow the declared ones.
 */
export const GUARDED_WRITE = defineScript({
  name: 'fencing-guard.write',
  keys: ['guarded', 'fence'],
  args: ['token', 'fenceTtlMs', 'command'],
  numbers: ['fenceTtlMs'],
  body: `
if #ARGV > ${String(3 + MOST_ARGUMENTS)} then return redis.error_reply('LOCKARG too many arguments') end
local function isToken(text)
  return string.find(text, '^[1-9]%d*$') and #text <= 16 and tonumber(text) <= ${LARGEST_TOKEN}
end
if not isToken(token) then return redis.error_reply('LOCKARG the fencing token is not a token') end
local newest = redis.call('get', fence)
if newest and not isToken(newest) then
  return redis.error_reply('LOCKSTATE its newest fencing token is not a token')
end
if newest and tonumber(token) < tonumber(newest) then return 0 end
-- The token comes first: if Redis refused the token after the write, the write could not be
-- undone.
redis.call('set', fence, token, 'px', fenceTtlMs)
local written = redis.pcall(command, guarded, unpack(ARGV, 4))
local isRefused = type(written) == 'table' and written.err
-- SET answers false when its condition is not met. Sent again, NX finds the value of the first time.
local isUnmet = written == false
  and not (newest == token and redis.pcall('get', guarded) == ARGV[4])
if isRefused or isUnmet then
  -- Nothing was written, so the older token comes back. By SET alone: the user may have no right
  -- to DEL.
  if newest then
    redis.call('set', fence, newest, 'px', fenceTtlMs)
  else
    redis.call('set', fence, token, 'pxat', 1)
  end
  return isRefused and written or 2
end
return 1`,
  reply: (raw) => (typeof raw === 'number' ? OUTCOMES[raw] : undefined),
});
