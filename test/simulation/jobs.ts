import { LockBackendError, LockTimeoutError } from '../../libs/redis-lock/src/core/api/errors.js';
import { outcomeOf } from './answers.js';
import type { Trial } from './primitives.js';

/** A job runs once in each of these. */
const SLOT_MS = 1_000;
/** No call of a process that stood still comes later. */
const KEPT_MS = 600_000;

/** Processes that start the same job at the same time, as `@CronLock` does. */
export function jobs(common: Omit<Trial, 'open'>): Trial {
  return {
    ...common,
    // By its clock each process knows the slot.
    excludes: ['wall-clock'],
    isFree: () => false,
    open: (app, { referee, history, world }) => {
      const locks = app.lock();
      const { process } = app;
      return async (key) => {
        const slot = Math.floor(process.clock.wall() / SLOT_MS);
        const job = `${key} slot ${String(slot)}`;
        const call = history.newCall();
        const told = { call, process: process.name };
        const since = world.now;
        history.add({ ...told, type: 'call', verb: 'using', key: job });
        const run = async () => {
          referee.ran(job, since);
          history.add({ ...told, type: 'return', outcome: 'runs' });
          await process.sleep(world.random.next() * SLOT_MS);
        };
        const once = { waitTimeMs: 0, minHoldMs: KEPT_MS };
        try {
          const outer = locks.get(job);
          await outer.using(() => locks.get(key).using(run, { waitTimeMs: 0 }), once);
        } catch (error) {
          // The job has run, or runs; or another process has still to finish the former run.
          history.add({ ...told, type: 'return', outcome: outcomeOf(error) });
          const isRefused = error instanceof LockTimeoutError || error instanceof LockBackendError;
          if (!isRefused && !referee.wasDisturbed(process, 0)) {
            referee.broken('reason for an error', `call ${String(call)}: ${String(error)}`);
          }
        }
        await process.sleep(SLOT_MS - (process.clock.wall() % SLOT_MS) + world.random.next() * 5);
      };
    },
  };
}
