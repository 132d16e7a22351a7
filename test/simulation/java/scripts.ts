import { createHash } from 'node:crypto';
import { LockBackendError } from '../../../libs/redis-lock/src/core/api/errors.js';
import type { Script } from '../../../libs/redis-lock/src/core/redis/script.js';
import { PERMIT_SCRIPTS } from '../../support/redisson-permits.js';
import { FAIR_SCRIPTS } from '../../support/redisson-fair.js';
import { READ_SCRIPTS, WRITE_SCRIPTS } from '../../support/redisson-read-write.js';
import { LOCK_SCRIPTS } from '../../support/redisson.js';

/** A script of Redisson. Null is a grant; a number is the time for which the thread may sleep. */
export type JavaScript = Script<string, string, number | null>;

const script = (name: string, lua: string): JavaScript => ({
  ...{ lua, sha1: createHash('sha1').update(lua).digest('hex') },
  ...{ name, keys: [], args: [], readsByName: false, inOrder: false },
  // No Cluster is simulated.
  inMode: {} as JavaScript['inMode'],
  decode: (raw) => (raw === null ? null : Number(raw)),
});

const REFUSED = /not locked by current thread/;

/** The thread holds it no more; in Java an `IllegalMonitorStateException`. */
export function isRefusal(error: unknown): boolean {
  return error instanceof LockBackendError && REFUSED.test(String(error.cause));
}

export const LOCK = {
  tryLock: script('java lock', LOCK_SCRIPTS.tryLock),
  unlock: script('java unlock', LOCK_SCRIPTS.unlock),
  renew: script('java renew', LOCK_SCRIPTS.renew),
};

export const FAIR = {
  tryOnce: {
    ...script('java fair try', FAIR_SCRIPTS.tryOnce),
    decode: (raw: unknown) => (raw === 1 ? null : 0),
  },
  tryLock: script('java fair lock', FAIR_SCRIPTS.tryLock),
  giveUp: script('java fair give up', FAIR_SCRIPTS.giveUp),
  unlock: script('java fair unlock', FAIR_SCRIPTS.unlock),
};

export const READ = {
  tryLock: script('java read lock', READ_SCRIPTS.tryLock),
  unlock: script('java read unlock', READ_SCRIPTS.unlock),
  renew: script('java read renew', READ_SCRIPTS.renew),
};

export const WRITE = {
  tryLock: script('java write lock', WRITE_SCRIPTS.tryLock),
  unlock: script('java write unlock', WRITE_SCRIPTS.unlock),
};

export const SEMAPHORE = {
  tryAcquire: script('java acquire', PERMIT_SCRIPTS.tryAcquire),
  release: script('java release', PERMIT_SCRIPTS.release),
};
