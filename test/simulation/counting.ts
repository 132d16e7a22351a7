import { LockBackendError } from '../../libs/redis-lock/src/core/api/errors.js';
import { byKey } from './by-key.js';
import type { Trial } from './primitives.js';
import { SLACK_MS } from './referee.js';
import type { Simulation } from './simulation.js';

/** As many permits as a semaphore of a world has. */
export const CAPACITY = 3;

/** The permits of one semaphore that callers have for sure, and those that may be lost with them. */
interface Count {
  held: number;
  doubtful: number;
  /** Since when all are free. */
  freeSince: number;
}

/** Callers of a semaphore whose permits have no lease: those of a dead process are gone. */
export function countingSemaphore(common: Omit<Trial, 'open'>): Trial {
  const countOf = byKey<Count>(() => ({ held: 0, doubtful: 0, freeSince: 0 }));
  return {
    ...common,
    keeps: /^key\d$/,
    isFree: () => false,
    open: (app, simulation) => {
      const { referee, history, plan, world } = simulation;
      const semaphores = app.counting();
      const { process } = app;
      return async (key, random) => {
        const permits = random.pick([1, 1, 2, 3]);
        const count = countOf(simulation, key);
        const semaphore = semaphores.get(key, CAPACITY);
        const call = history.newCall();
        const begunAt = world.now;
        const name = process.name;
        const options = { waitTimeMs: random.pick([0, 20, 500, 20_000]) };
        history.add({
          type: 'call',
          call,
          process: name,
          verb: 'acquire',
          key,
          options: { permits },
        });
        const stopWatching = process.onDeath(() => {
          count.doubtful += permits;
        });
        try {
          if (!(await semaphore.tryAcquire(permits, options))) {
            stopWatching();
            history.add({ type: 'return', call, process: name, outcome: 'false' });
            if (options.waitTimeMs > 0) judge(simulation, key, count, begunAt);
            return;
          }
        } catch (error) {
          stopWatching();
          if (error instanceof LockBackendError && error.outcome === 'unknown') {
            count.doubtful += permits;
          }
          history.add({ type: 'return', call, process: name, outcome: String(error) });
          return;
        }
        referee.progressed();
        count.held += permits;
        history.add({ type: 'return', call, process: name, outcome: 'granted' });
        if (count.held > CAPACITY && !referee.hasLostData(0)) {
          referee.broken(
            'permits',
            `${String(count.held)} of ${String(CAPACITY)} permits are in use`,
          );
        }
        const forget = process.onDeath(() => {
          count.held -= permits;
        });
        await process.sleep(random.next() * plan.workMs);
        count.held -= permits;
        forget();
        count.freeSince = Infinity;
        try {
          await semaphore.release(permits);
          count.freeSince = world.now;
          stopWatching();
        } catch {
          count.doubtful += permits;
        }
      };
    },
    mayBeUsedUp: (simulation) =>
      keysOf(simulation).some((key) => countOf(simulation, key).doubtful > 0),
    atEnd: async (app, simulation) => {
      const { referee } = simulation;
      for (const key of keysOf(simulation)) {
        const { doubtful } = countOf(simulation, key);
        const free = await app.counting().get(key, CAPACITY).availablePermits();
        const isRight = free <= CAPACITY && free >= CAPACITY - doubtful;
        if (isRight || referee.hasLostData(0)) continue;
        referee.broken(
          'permits',
          `${key} has ${String(free)} permits, ${String(doubtful)} in doubt`,
        );
      }
    },
  };
}

function keysOf({ plan }: Simulation): string[] {
  return Array.from({ length: plan.keys }, (_, i) => `key${String(i + 1)}`);
}

/** A caller that has waited is not refused what is free. */
function judge(
  { referee, rules, world }: Simulation,
  key: string,
  { held, doubtful, freeSince }: Count,
  begunAt: number,
): void {
  if (held > 0 || doubtful > 0 || referee.hasLostData(0)) return;
  const since = Math.max(freeSince, begunAt);
  // Another process may not know yet that it has them.
  if (!rules.isSmooth && !referee.isQuiet(world.now - since)) return;
  const freeMs = world.now - since;
  if (freeMs <= rules.pollMs + SLACK_MS) return;
  referee.broken('progress', `a caller is refused ${key}, which is free for ${String(freeMs)} ms`);
}
