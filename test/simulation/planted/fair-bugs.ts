import {
  ACQUIRE,
  CANCEL,
  PASS,
  RELEASE,
} from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import { scripts, script } from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

const ENTRIES = [ACQUIRE, ACQUIRE.fenced];
const HANDING_ON = [...ENTRIES, RELEASE, PASS, CANCEL];

/** Mistakes of a fair lock, by what is wrong. */
export const FAIR_BUGS: Record<string, Bug> = {
  'an entry passes the queue': scripts(
    ENTRIES,
    'local isNext = not head or head == owner',
    'local isNext = true',
  ),
  'a new waiter goes to the head': scripts(
    ENTRIES,
    `redis.call('rpush', queue, owner)`,
    `redis.call('lpush', queue, owner)`,
  ),
  'a release does not hand on': script(RELEASE, 'return handOn()', `return 'done'`),
  'a cancel leaves its place': script(
    CANCEL,
    'local wasNext = dequeue(-1)',
    'local wasNext = false',
  ),
  'the dead are granted': scripts(
    HANDING_ON,
    'if tell and not tell() then',
    'if tell and not tell() and false then',
  ),
  'a message without its grant': scripts(
    HANDING_ON,
    'if not tried(give, waiter, count, leaseMs) then return false end',
    '',
  ),
  'the owner of a grant stays in the queue': scripts(
    HANDING_ON,
    'remove(waiter, place, 1, record)',
    '',
  ),
  'an entry without a TTL': scripts(
    ENTRIES,
    `local expiry = redis.pcall('pexpire', lock, leaseMs)`,
    `local expiry = 1`,
  ),
  'a hand-over keeps the count of its sender': script(
    PASS,
    'giveTo(successor, place, its, leaseMs, starts)',
    `giveTo(successor, place, its, leaseMs, '2')`,
  ),
  'a new waiter counts as served': scripts(
    ENTRIES,
    'local answer = waitInQueue(own, life, head, record)',
    'local answer = waitInQueue(own, life, head, record) dequeue(-1)',
  ),
};
