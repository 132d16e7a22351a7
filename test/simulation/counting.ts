import { LockBackendError } from '../../libs/redis-lock/src/core/api/errors.js';
import type { Random } from '../support/random.js';
import type { CountingSemaphore } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.js';
import { outcomeOf } from './answers.js';
import { byKey } from './by-key.js';
import { keysOf } from './plan.js';
import type { Trial } from './primitives.js';
import { SLACK_MS } from './referee.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { Simulation } from './simulation.js';

/** As many permits as a semaphore of a world has. */
export const CAPACITY = 3;

/** The permits of one semaphore that callers have for sure, and those that may be lost with them. */
class Count {
  held = 0;
  doubtful = 0;
  /** Since when all are free. */
  #freeSince = 0;

  /** A process that dies may have taken them. The returned function ends this. */
  asked(process: SimulatedProcess, permits: number): () => void {
    return process.onDeath(() => {
      this.doubtful += permits;
    });
  }

  /** A caller has them. The returned function takes them away. */
  took(process: SimulatedProcess, permits: number): () => void {
    this.held += permits;
    const forget = process.onDeath(() => {
      this.held -= permits;
    });
    return () => {
      forget();
      this.held -= permits;
      this.#freeSince = Infinity;
    };
  }

  gaveBack(now: number): void {
    this.#freeSince = now;
  }

  /** For how long all permits were certainly free, since this time. */
  freeMs(since: number, now: number): number {
    if (this.held > 0 || this.doubtful > 0) return 0;
    return now - Math.max(this.#freeSince, since);
  }
}

/** One caller that takes permits, and gives them back. */
class PermitCaller {
  readonly #asked: { readonly call: number; readonly process: string };

  constructor(
    private readonly process: SimulatedProcess,
    private readonly simulation: Simulation,
    private readonly semaphore: CountingSemaphore,
    private readonly count: Count,
    private readonly permits: number,
  ) {
    this.#asked = { call: simulation.history.newCall(), process: process.name };
  }

  async run(random: Random): Promise<void> {
    const { count, permits, process, semaphore, simulation } = this;
    const { name: key } = semaphore;
    const { world, plan, history } = simulation;
    const waitTimeMs = random.pick([0, 20, 500, 20_000]);
    const options = { permits, waitTimeMs };
    history.add({ type: 'call', ...this.#asked, verb: 'tryAcquire', key, options });
    const settled = count.asked(process, permits);
    if (!(await this.#isGranted(waitTimeMs))) {
      settled();
      return;
    }
    const leave = this.#enter();
    await process.sleep(random.next() * plan.workMs);
    leave();
    try {
      await semaphore.release(permits);
      count.gaveBack(world.now);
      settled();
    } catch {
      count.doubtful += permits;
    }
  }

  async #isGranted(waitTimeMs: number): Promise<boolean> {
    const { count, permits, semaphore, simulation } = this;
    const begunAt = simulation.world.now;
    try {
      const isGranted = await semaphore.tryAcquire(permits, { waitTimeMs });
      this.#returned(isGranted ? 'granted' : 'false');
      if (!isGranted && waitTimeMs > 0)
        judge(simulation, semaphore.name, count.freeMs(begunAt, simulation.world.now));
      return isGranted;
    } catch (error) {
      const isUnknown = error instanceof LockBackendError && error.outcome === 'unknown';
      if (isUnknown) count.doubtful += permits;
      this.#returned(outcomeOf(error));
      return false;
    }
  }

  #enter(): () => void {
    const { count, permits, process, simulation } = this;
    const { referee } = simulation;
    referee.progressed();
    const leave = count.took(process, permits);
    if (count.held > CAPACITY && !referee.hasLostData(0)) {
      const held = `${String(count.held)} of ${String(CAPACITY)}`;
      referee.broken('permits', `${held} permits are in use`);
    }
    return leave;
  }

  #returned(outcome: string): void {
    this.simulation.history.add({ type: 'return', ...this.#asked, outcome });
  }
}

/** Callers of a semaphore whose permits have no lease: those of a dead process are gone. */
export function countingSemaphore(common: Omit<Trial, 'open'>): Trial {
  const countOf = byKey(() => new Count());
  return {
    ...common,
    keeps: /^key\d$/,
    isFree: () => false,
    open: (app, simulation) => {
      const semaphores = app.counting();
      return (key, random) => {
        const [permits, count] = [random.pick([1, 1, 2, 3]), countOf(simulation, key)];
        const semaphore = semaphores.get(key, CAPACITY);
        return new PermitCaller(app.process, simulation, semaphore, count, permits).run(random);
      };
    },
    mayBeUsedUp: (simulation) =>
      keysOf(simulation.plan).some((key) => countOf(simulation, key).doubtful > 0),
    atEnd: async (app, simulation) => {
      const { referee, plan } = simulation;
      for (const key of keysOf(plan)) {
        const { doubtful } = countOf(simulation, key);
        const free = await app.counting().get(key, CAPACITY).availablePermits();
        const isRight = free <= CAPACITY && free >= CAPACITY - doubtful;
        if (isRight || referee.hasLostData(0)) continue;
        const counted = `${String(free)} permits, ${String(doubtful)} in doubt`;
        referee.broken('permits', `${key} has ${counted}`);
      }
    },
  };
}

/** A caller that has waited is not refused what is free. */
function judge({ referee, rules }: Simulation, key: string, freeMs: number): void {
  if (freeMs <= rules.pollMs + SLACK_MS || referee.hasLostData(0)) return;
  // Another process may not know yet that it has them.
  if (!rules.isSmooth && !referee.isQuiet(freeMs)) return;
  referee.broken('progress', `a caller is refused ${key}, which is free for ${String(freeMs)} ms`);
}
