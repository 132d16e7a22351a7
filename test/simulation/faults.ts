import type { Application } from './application.js';
import { MISHAPS, type Mishap, type Mishaps } from '../../libs/world/src/mishaps.js';
import { OCCASIONS, type FaultName, type Occasion } from './plan.js';
import { Store } from '../../libs/redis-lock/src/testing/server/store.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { Address, SimulatedServer } from './simulated-server.js';
import type { Simulation } from './simulation.js';

const RATES: Record<Mishap, number> = {
  ...{ unsent: 0.002, unanswered: 0.004, 'gives-up': 0.3, messages: 0.02 },
};
/** The longest pause between two faults. */
const APART_MS = 600;
/** Processes wait for no longer while a server stands still, or a connection is silent. */
const LONGEST_SILENCE_MS = 3_000;

/** Brings about the faults of a plan, at random, until its calm begins. */
export class Faults {
  readonly counts: Partial<Record<FaultName, number>> = {};
  readonly #occasions: readonly Occasion[];
  readonly #mishaps: readonly Mishap[];
  readonly #demoted: SimulatedServer[] = [];

  constructor(private readonly simulation: Simulation) {
    const faults = simulation.plan.faults.filter((one) => !simulation.excludes(one));
    this.#occasions = OCCASIONS.filter((one) => faults.includes(one));
    this.#mishaps = MISHAPS.filter((one) => faults.includes(one));
  }

  /**
   * Something breaks, for this time.
   * @param process none: every process may feel it
   */
  strike(fault: FaultName, of: string, process?: SimulatedProcess, ms?: number): void {
    const { referee, world, rules } = this.simulation;
    this.#tell(fault, of, ms);
    referee.disturbed(process, world.now + (ms ?? 0) + rules.settleMs);
  }

  /** Counts it, too. The time is its duration, or the step of a clock. */
  #tell(fault: FaultName, of: string, ms?: number): void {
    this.counts[fault] = (this.counts[fault] ?? 0) + 1;
    this.simulation.history.add({ type: 'fault', fault, of, ...(ms === undefined ? {} : { ms }) });
  }

  /** A process starts. */
  prepare(mishaps: Mishaps): void {
    if (!this.simulation.isStormy) return;
    for (const mishap of this.#mishaps) mishaps.set(mishap, RATES[mishap]);
  }

  /** Plans the next fault, or begins the calm. */
  begin(): void {
    const { world } = this.simulation;
    world.after(world.random.next() * APART_MS, () => {
      if (!this.simulation.isStormy) {
        this.#calm();
        return;
      }
      if (this.#occasions.length > 0) this.#happen(world.random.pick(this.#occasions));
      this.begin();
    });
  }

  #calm(): void {
    const { applications, java, weather, servers } = this.simulation;
    weather.spikes = 0;
    for (const server of servers) server.isFull = false;
    for (const { mishaps } of applications) for (const one of MISHAPS) mishaps.set(one, 0);
    java?.calm();
    this.#leaveDemoted();
  }

  #happen(fault: Occasion): void {
    const { world, applications, addresses, plan, referee, rules } = this.simulation;
    const { random } = world;
    const awake = [...applications].filter(({ process }) => !process.isStill);
    if (awake.length === 0) return;
    const app = random.pick(awake);
    const address = random.pick(
      addresses.slice(0, Math.max(1, Math.floor((addresses.length - 1) / 2))),
    );
    const { master } = address;
    const leaseMs = plan.settings.watchdogLeaseMs;
    const ms = random.next() * random.pick([5, 100, 0.5 * leaseMs, 2.5 * leaseMs]);
    const isOfServer = OF_SERVERS.has(fault);
    const process = isOfServer || ENDS.has(fault) ? undefined : app.process;
    referee.disturbed(process, world.now + ms + rules.settleMs);
    const lossMs = rules.lossMs(fault);
    if (lossMs !== undefined) referee.lostData(world.now + ms + lossMs);
    const lastsMs = this.#actions[fault]({ app, address, master, ms });
    const actor = isOfServer ? master : app.process;
    this.#tell(fault, fault === 'latency' ? 'the network' : actor.name, lastsMs);
  }

  /** They return what to tell of the time. */
  readonly #actions: Record<Occasion, (on: On) => number | undefined> = {
    stall: ({ app, ms }) => {
      app.process.stall(ms);
      return ms;
    },
    suspension: ({ app, ms }) => {
      app.process.suspend(ms);
      return ms;
    },
    kill: ({ app }) => {
      this.simulation.kill(app);
    },
    shutdown: ({ app }) => {
      this.simulation.shutDown(app);
    },
    'wall-clock': ({ app, ms }) => {
      const stepMs = this.simulation.world.random.chance(0.5) ? ms : -ms;
      app.process.stepWall(stepMs);
      return stepMs;
    },
    cut: ({ app }) => {
      for (const { links } of app.clients) this.#pick(links)?.cut();
    },
    'half-open': ({ app, ms }) => {
      const noticedAfterMs = Math.min(ms, 4_000);
      for (const client of app.clients) {
        this.#pick(client.links)?.cut({ noticedAfterMs, forgottenAfterMs: 2 * ms });
      }
      return noticedAfterMs;
    },
    silence: ({ app, ms }) => {
      const silentMs = Math.min(ms, LONGEST_SILENCE_MS);
      for (const client of app.clients) {
        const link = this.#pick(client.links);
        if (link) link.silentUntil = this.simulation.world.now + silentMs;
      }
      return silentMs;
    },
    latency: ({ ms }) => {
      const { weather, world } = this.simulation;
      weather.spikes = 0.2;
      weather.spikeMs = Math.min(ms, 300);
      world.after(ms, () => {
        weather.spikes = 0;
      });
      return ms;
    },
    pause: ({ master, ms }) => {
      const pauseMs = Math.min(ms, LONGEST_SILENCE_MS);
      master.stall(pauseMs);
      return pauseMs;
    },
    restart: ({ master, ms }) => this.#restart(master, ms, master.store),
    'restart-empty': ({ master, ms }) => this.#restart(master, ms, new Store()),
    'restart-old': ({ master, ms }) => {
      const [replica] = master.replicas;
      return replica === undefined ? 0 : this.#restart(master, ms, master.past(replica));
    },
    failover: ({ address, ms }) => {
      this.#failOver(address, ms);
      return ms;
    },
    delete: ({ master }) => {
      this.#deleteOne(master, /^key\d$/);
    },
    eviction: ({ master }) => {
      this.#deleteOne(master, /./);
    },
    'script-flush': ({ master }) => {
      master.scripts.clear();
    },
    'force-release': ({ app }) => {
      const { referee, world } = this.simulation;
      this.simulation.in(app.process, () => {
        const done = () => {
          referee.lostData(world.now);
        };
        app.lock().get('key1').forceRelease().then(done, done);
      });
    },
    full: ({ master, ms }) => {
      master.isFull = true;
      this.simulation.world.after(ms, () => {
        master.isFull = false;
      });
      return ms;
    },
    'redis-clock': ({ master, ms }) => {
      const isWrong = master.clockAheadMs !== 0;
      const aheadMs = this.simulation.world.random.chance(0.5) ? ms : -ms;
      master.clockAheadMs = isWrong ? 0 : aheadMs;
      return master.clockAheadMs;
    },
  };

  #restart(master: SimulatedServer, ms: number, data: Store): number {
    if (!master.isUp) return 0;
    master.crash();
    this.simulation.world.after(ms, () => {
      master.start(data);
    });
    return ms;
  }

  /** Some processes find the new master at once, others when the old one refuses them. */
  #failOver(address: Address, ms: number): void {
    const { master } = address;
    const [replica] = master.replicas;
    if (!master.isUp || replica === undefined) return;
    address.master = master.replacedBy(replica);
    const { world, applications } = this.simulation;
    for (const { clients } of applications) {
      if (world.random.chance(0.5))
        for (const { links } of clients) links.forEach((one) => one.cut());
    }
    world.after(ms, () => {
      master.isDemoted = true;
      this.#demoted.push(master);
      this.simulation.java?.findMaster();
      if (!this.simulation.isStormy) this.#leaveDemoted();
    });
  }

  /** At last each process has found the new masters, also one that sends nothing. */
  #leaveDemoted(): void {
    for (const { links } of this.#demoted) for (const link of [...links]) link.cut();
  }

  #deleteOne(master: SimulatedServer, which: RegExp): void {
    const keys = master.store.keys.filter((key) => which.test(key));
    const key = this.#pick(keys);
    if (key !== undefined) master.store.delete(key);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : this.simulation.world.random.pick(items);
  }
}

interface On {
  readonly app: Application;
  readonly address: Address;
  readonly master: SimulatedServer;
  readonly ms: number;
}

const OF_SERVERS = new Set<Occasion>([
  ...(['pause', 'restart', 'restart-old', 'restart-empty', 'failover'] as const),
  ...(['delete', 'eviction', 'full', 'redis-clock', 'script-flush', 'latency'] as const),
]);
/** Others wait for what the process leaves behind. */
const ENDS = new Set<Occasion>(['kill', 'shutdown', 'cut', 'half-open', 'force-release']);
