import type { EnterAnswer, Inspection, LeaveAnswer, Renewal } from './hold-protocol.js';
import type { RedisConnection, Reply } from './redis-connection.js';
import { defineScript, type RawReply } from './script.js';

/**
 * What all locks share that are a hash with one field on the wire, owner → hold count, as Redisson's
 * RLock and RFairLock are; and how the scripts of all locks answer.
 */

/** What a script answers when it has granted, and when the owner is gone that should be there. */
export const GRANTED = 1;
export const LOST = 0;

/** A lock has one field, its owner. Anything else is neither ours to wait for nor to delete. */
export const REFUSE_OTHERS = `
if redis.call('hlen', lock) ~= 1 or not string.find(redis.call('hkeys', lock)[1], ':%-?%d+$') then
  local isReadWrite = redis.call('hexists', lock, 'mode') == 1
  local what = isReadWrite and 'a read-write lock' or 'something that is no lock'
  return redis.error_reply('LOCKSTATE it holds ' .. what)
end`;

/** For each key an owner and a lease: prolongs what its owner holds, and creates nothing. */
export const RENEW = defineScript({
  name: 'hash-lock.renew',
  keys: [],
  args: [],
  body: `
for i = 1, #KEYS do
  if not string.find(ARGV[2 * i], '^[1-9]%d*$') or #ARGV[2 * i] > 15 then
    return redis.error_reply('LOCKARG a lease is not a whole number')
  end
end
local answers = {}
for i = 1, #KEYS do
  local held = redis.pcall('hexists', KEYS[i], ARGV[2 * i - 1])
  if type(held) == 'table' then
    -- A key of another type is a no. That Redis may not be asked is none.
    if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
    held = 0
  end
  -- Never shorter: an old renewal that arrives late must not undo a longer one.
  if held == 1 and redis.call('pttl', KEYS[i]) < tonumber(ARGV[2 * i]) then
    redis.call('pexpire', KEYS[i], ARGV[2 * i])
  end
  answers[i] = held
end
return answers`,
  reply: (raw) => (Array.isArray(raw) ? raw.map((answer) => answer === 1) : undefined),
});

export function renewHashes(
  connection: RedisConnection,
  renewals: readonly Renewal[],
  minReplicas: number,
): Promise<Reply<readonly boolean[]>> {
  const keys = renewals.map(({ key }) => key);
  const args = renewals.flatMap(({ owner, leaseTimeMs }) => [owner, leaseTimeMs]);
  return connection.run(RENEW, keys, args, minReplicas);
}

export const INSPECT = defineScript({
  name: 'hash-lock.inspect',
  keys: ['lock'],
  args: [],
  body: `
if redis.call('exists', lock) == 0 then return {0} end
${REFUSE_OTHERS}
return {redis.call('pttl', lock), redis.call('hkeys', lock)[1]}`,
  reply: inspection,
});

export function enterAnswer(raw: RawReply): EnterAnswer | undefined {
  if (raw === GRANTED) return { kind: 'granted', fencingToken: undefined };
  return refusal(raw);
}

export function fencedAnswer(raw: RawReply): EnterAnswer | undefined {
  if (typeof raw !== 'string') return refusal(raw);
  const fencingToken = Number(raw);
  const isToken = Number.isSafeInteger(fencingToken) && fencingToken > 0;
  return isToken ? { kind: 'granted', fencingToken } : undefined;
}

function refusal(raw: RawReply): EnterAnswer | undefined {
  if (raw === LOST) return { kind: 'lost' };
  const pttl = typeof raw === 'object' ? raw[0] : undefined;
  return typeof pttl === 'number' ? { kind: 'busy', remainingMs: remainingOf(pttl) } : undefined;
}

function inspection(raw: RawReply): Inspection | undefined {
  if (typeof raw === 'string' || typeof raw === 'number') return undefined;
  const [pttl, owner] = raw;
  if (typeof pttl !== 'number') return undefined;
  if (owner === undefined) return { remainingMs: 0, owners: [] };
  return { remainingMs: remainingOf(pttl), owners: [String(owner)] };
}

/** A key without a TTL never ends by itself. */
export function remainingOf(pttl: number): number {
  return pttl < 0 ? Infinity : pttl;
}

export function leaveAnswer(raw: RawReply): LeaveAnswer | undefined {
  return raw === 'done' || raw === 'absent' || raw === 'unannounced' ? raw : undefined;
}
