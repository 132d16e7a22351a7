import { defineScript } from '../../core/script.js';

const LARGEST_TOKEN = String(Number.MAX_SAFE_INTEGER);

/**
 * Looks at the newest token and writes, in one step. An equal token is the same holder, who may write
 * as often as he likes. The token is noted before the write: a write that Redis refuses has shown that
 * its holder was there all the same. The arguments of the command follow those declared.
 */
export const GUARDED_WRITE = defineScript({
  name: 'fencing-guard.write',
  keys: ['guarded', 'fence'],
  args: ['token', 'fenceTtlMs', 'command'],
  numbers: ['fenceTtlMs'],
  body: `
local function isToken(text)
  return string.find(text, '^[1-9]%d*$') and #text <= 16 and tonumber(text) <= ${LARGEST_TOKEN}
end
if not isToken(token) then return redis.error_reply('LOCKARG the fencing token is not a token') end
local newest = redis.call('get', fence)
if newest and not isToken(newest) then
  return redis.error_reply('LOCKSTATE its newest fencing token is not a token')
end
if newest and tonumber(token) < tonumber(newest) then return 0 end
redis.call('set', fence, token, 'px', fenceTtlMs)
redis.call(command, guarded, unpack(ARGV, 4))
return 1`,
  reply: (raw) => (raw === 1 ? true : raw === 0 ? false : undefined),
});
