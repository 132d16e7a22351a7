import {
  READ_ACQUIRE,
  READ_CANCEL,
  READ_RELEASE,
  READ_RENEW,
} from '../../../libs/redis-lock/src/primitives/read-write-lock/read-lock.scripts.js';
import {
  WRITE_ACQUIRE,
  WRITE_ACQUIRE_OR_QUEUE,
} from '../../../libs/redis-lock/src/primitives/read-write-lock/write-lock.scripts.js';
import {
  WRITE_CANCEL,
  WRITE_PASS,
  WRITE_PASS_IN_ORDER,
  WRITE_RELEASE,
} from '../../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import { script, scripts } from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

const WRITES = [
  ...[WRITE_ACQUIRE, WRITE_ACQUIRE.fenced],
  ...[WRITE_ACQUIRE_OR_QUEUE, WRITE_ACQUIRE_OR_QUEUE.fenced],
];
const WRITE_ENDS = [WRITE_RELEASE, WRITE_PASS, WRITE_PASS_IN_ORDER, WRITE_CANCEL];

/** Mistakes of a read-write lock, by what is wrong. */
export const READ_WRITE_BUGS: Record<string, Bug> = {
  'a reader does not look for a writer': script(
    READ_ACQUIRE,
    `if mode == 'write' then`,
    'if false then',
  ),
  'a writer does not look for readers': scripts(
    WRITES,
    `if longest > 0 then left = longest else redis.call('del', lock) end`,
    `redis.call('del', lock)`,
  ),
  'a reader that is sent again counts twice': script(
    READ_ACQUIRE,
    /elseif tonumber\(held or 0\) ~= holdCount then\n.*$/m,
    `else
  stored = redis.pcall('hincrby', lock, owner, 1)`,
  ),
  'the first reader that leaves frees the lock': scripts(
    [READ_RELEASE, READ_CANCEL],
    'if longest > 0 then',
    'if false then',
  ),
  'the last reader that leaves frees nothing': scripts(
    [READ_RELEASE, READ_CANCEL],
    `redis.call('del', lock)
  return announce(channel, '0')`,
    `return announce(channel, '0')`,
  ),
  'a reader without a TTL of its own': script(
    READ_ACQUIRE,
    `redis.call('set', key .. holdCount, '1', 'px', leaseMs)`,
    `redis.call('set', key .. holdCount, '1')`,
  ),
  'a renewal forgets the reader': script(
    READ_RENEW,
    `if left < leaseMs then redis.call('pexpire', key .. n, leaseMs) end`,
    '',
  ),
  'a renewal forgets the lock': script(READ_RENEW, `redis.call('pexpire', lock, leaseMs)`, ''),
  'a new reader passes waiting writers': script(
    READ_ACQUIRE,
    'if not isUnawaited and isAwaited(writers)',
    'if false',
  ),
  'a reader that enters shortens the lock': script(
    READ_ACQUIRE,
    'if left < tonumber(leaseMs) then',
    'if true then',
  ),
  'a writer does not wait for the turn of readers': scripts(
    WRITES,
    `if not left and redis.call('exists', turn, readers) > 0 then`,
    'if false then',
  ),
  'readers get no turn': scripts(
    [...WRITES, ...WRITE_ENDS, READ_ACQUIRE],
    `if isAwaited(readers) then`,
    'if false then',
  ),
  'a writer that ends its write frees its read': scripts(
    WRITE_ENDS,
    `redis.call('hlen', lock) > 2 and longestLease() or 0`,
    '0',
  ),
  'a writer that is handed the lock has no mode': scripts(
    [WRITE_RELEASE, WRITE_PASS, WRITE_PASS_IN_ORDER, WRITE_CANCEL],
    `'mode', 'write', one .. ':write'`,
    `'mode', 'read', one .. ':write'`,
  ),
  'a writer that leaves still waits': scripts(
    [WRITE_CANCEL],
    'local isLast = tried(forget, owner)',
    'local isLast = false',
  ),
};
