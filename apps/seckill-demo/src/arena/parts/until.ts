import { setTimeout as elapse } from 'node:timers/promises';
import { STEP_LIMIT_MS } from '../fleet.js';

const ASK_EVERY_MS = 2;

/** Polls until the check is true. Resolves with false after a time that no step needs on any machine. */
export async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  const limit = Date.now() + STEP_LIMIT_MS;
  while (!(await isSo())) {
    if (Date.now() > limit) return false;
    await elapse(ASK_EVERY_MS);
  }
  return true;
}
