import type { Primitive } from '../plan.js';
import { CLIENT_BUGS } from './client-bugs.js';
import { FAIR_BUGS } from './fair-bugs.js';
import {
  JAVA_FAIR_BUGS,
  JAVA_LOCK_BUGS,
  JAVA_READ_WRITE_BUGS,
  JAVA_SEMAPHORE_BUGS,
} from './java-bugs.js';
import { LOCK_BUGS } from './lock-bugs.js';
import { GUARD_BUGS, MULTI_BUGS, RED_BUGS, REPLICATED_BUGS } from './other-bugs.js';
import { COUNTING_BUGS, LATCH_BUGS, SEMAPHORE_BUGS } from './permit-bugs.js';
import type { Bug } from './planted.js';
import { READ_WRITE_BUGS } from './read-write-bugs.js';

export const BUGS: Partial<Record<Primitive, Record<string, Bug>>> = {
  lock: { ...LOCK_BUGS, ...CLIENT_BUGS, ...JAVA_LOCK_BUGS },
  fair: { ...FAIR_BUGS, ...JAVA_FAIR_BUGS },
  'read-write': { ...READ_WRITE_BUGS, ...JAVA_READ_WRITE_BUGS },
  multi: MULTI_BUGS,
  replicated: REPLICATED_BUGS,
  red: RED_BUGS,
  semaphore: { ...SEMAPHORE_BUGS, ...JAVA_SEMAPHORE_BUGS },
  'counting-semaphore': COUNTING_BUGS,
  latch: LATCH_BUGS,
  guard: GUARD_BUGS,
};
