import * as fair from '../../../libs/redis-lock/src/primitives/fair-lock/fair-lock.scripts.js';
import {
  CANCEL,
  PASS_IN_ORDER,
  RELEASE,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import {
  WRITE_CANCEL,
  WRITE_PASS_IN_ORDER,
  WRITE_RELEASE,
} from '../../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import {
  CANCEL as PERMIT_CANCEL,
  RELEASE as PERMIT_RELEASE,
} from '../../../libs/redis-lock/src/primitives/semaphore/permits.scripts.js';
import { script, scripts } from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

const ENDS = [RELEASE, PASS_IN_ORDER, CANCEL];
const WRITE_ENDS = [WRITE_RELEASE, WRITE_PASS_IN_ORDER, WRITE_CANCEL];
const FAIR_ENDS = [fair.RELEASE, fair.PASS, fair.CANCEL];

const NO_WINDOW = [
  'if outsiders == 0 then return false end',
  'if true then return false end',
] as const;

/** They show in histories with Java services. */
function besideJava(bugs: Record<string, Bug>): Record<string, Bug> {
  const all = Object.entries(bugs).map(([name, bug]) => [name, { ...bug, java: true }] as const);
  return Object.fromEntries(all);
}

export const JAVA_LOCK_BUGS = besideJava({
  'Java is not told of a release': scripts(ENDS, /announce\(channel, '0'\)/g, '1'),
  'Java has no turn': scripts(ENDS, ...NO_WINDOW),
  'a late release frees what Java holds': script(
    RELEASE,
    `if not redis.call('hget', lock, owner) then return 'absent' end`,
    '',
  ),
});

export const JAVA_FAIR_BUGS = besideJava({
  'a Java thread is passed over': scripts(
    FAIR_ENDS,
    /if not record or record\.terms == '' or (.*)\n\s*local isGiven, isMute = (.*)/,
    `if place == 32 then return false end
    local isGiven, isMute = false, false
    if record then isGiven, isMute = giveByMessage(waiter, place, record) end`,
  ),
  'a Java thread is not told that it is next': scripts(
    FAIR_ENDS,
    `local receivers = head and announce(channelPrefix .. ':' .. head, '0')`,
    'local receivers = head and 1',
  ),
});

export const JAVA_SEMAPHORE_BUGS = besideJava({
  'no Java thread is told of permits': scripts(
    [PERMIT_RELEASE, PERMIT_CANCEL],
    /announce\(channel, string.format\(.*\)\)/,
    `announce(channel, '0')`,
  ),
});

export const JAVA_READ_WRITE_BUGS = besideJava({
  'Java is not told of a write': scripts(
    WRITE_ENDS,
    /local function announceToAll\(\)/,
    `local function announceToAll()
  if true then return 1 end`,
  ),
});
