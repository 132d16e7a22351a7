import { readdirSync, readFileSync } from 'node:fs';

/**
 * The processes that have this text in the environment they were started with, also those whose parent
 * has ended; undefined where that cannot be seen.
 */
export function processesWith(text: string): number[] | undefined {
  if (process.platform !== 'linux') return undefined;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text);
    } catch {
      // It has ended, or belongs to another user.
      return false;
    }
  });
}
