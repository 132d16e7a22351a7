import { Random } from '../support/random.js';
import { Application, type Decorate } from './application.js';
import { end } from './ending.js';
import { Faults } from './faults.js';
import { useTimeOf } from './ioredis/globals.js';
import { History, type TimedEntry } from './history.js';
import { JavaSide, REVIVES } from './java/java-side.js';
import { Mishaps } from '../../libs/world/src/mishaps.js';
import type { FaultName, Plan } from './plan.js';
import { TRIALS, type Trial } from './primitives.js';
import { Referee, type Rules, type Violation } from './referee.js';
import { rulesOf } from './rules.js';
import { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import { Address, SimulatedServer } from './simulated-server.js';
import { World } from '../../libs/world/src/world.js';

/** The outcome of a history. */
export interface Verdict {
  readonly plan: Plan;
  readonly sections: number;
  readonly events: number;
  readonly hash: string;
  readonly faults: Readonly<Record<string, number>>;
  readonly violation?: Violation | undefined;
}

export interface Watching {
  readonly tell?: (entry: TimedEntry) => void;
  readonly decorate?: Decorate;
  /** With more events, the history is broken off, which is no violation. */
  readonly events?: number;
}

/** After this part of the sections no more faults begin. */
const STORMY = 0.75;
/** Even if hardly a caller gets through. */
const STORM_MS = 60_000;
/** If no caller is granted anything for so long after the last fault, none ever will be. */
const STUCK_MS = 120_000;
/** The pause between two calls of one that does not rest. */
const PROBE_MS = 5_000;
const LOOK_MS = 25;

/** A world from its first event to its last: processes, servers, callers, faults and a referee. */
export class Simulation {
  readonly world: World;
  readonly history: History;
  readonly rules: Rules;
  readonly referee: Referee;
  readonly servers: readonly SimulatedServer[];
  readonly addresses: readonly Address[];
  readonly weather = { spikes: 0, spikeMs: 0 };
  readonly applications = new Set<Application>();
  java: JavaSide | undefined;
  readonly faults: Faults;
  readonly #trial: Trial;
  readonly #most: number;
  /** The callers of each living process that have not ended. */
  readonly #callers = new Map<SimulatedProcess, number>();
  #bootCount = 0;

  constructor(
    readonly plan: Plan,
    private readonly watching: Watching = {},
  ) {
    const trial = (this.#trial = TRIALS[plan.primitive]);
    this.#most = watching.events ?? Infinity;
    this.world = new World(new Random(`${plan.primitive} ${String(plan.seed)}`).fork('world'));
    this.history = new History(() => this.world.now, watching.tell);
    this.servers = Array.from(
      { length: trial.servers },
      (_, i) => new SimulatedServer(this.world, `redis${String(i)}`, databaseOf(plan)),
    );
    this.addresses = this.servers.map((server) => new Address(server));
    const copies = (['restart-old', 'failover'] as const).some((one) => plan.faults.includes(one));
    // In a session nothing changes while it waits for replicas.
    const longestMs = plan.level === 2 && trial.lagMs !== undefined ? 0 : (trial.lagMs ?? 1_000);
    const lagMs = this.world.random.next() * longestMs;
    if (copies || trial.lagMs !== undefined)
      for (const server of this.servers) server.replicate(lagMs);
    this.rules = rulesOf(plan, trial, this.addresses);
    this.referee = new Referee(this.world, this.history, this.rules);
    this.faults = new Faults(this);
  }

  excludes(fault: FaultName): boolean {
    const isOfJava = this.plan.threads > 0 && this.#trial.isFair && REVIVES.includes(fault);
    return isOfJava || this.#trial.excludes?.includes(fault) === true;
  }

  get isStormy(): boolean {
    return this.referee.sections < this.plan.sections * STORMY && this.world.now < STORM_MS;
  }

  /**
   * After the last fault, callers begin anew once all is quiet. Then each promise counts. The first
   * caller of a process goes on now and then: only calls end what the dead have left.
   */
  async rest(process: SimulatedProcess, isFirst: boolean): Promise<void> {
    for (;;) {
      const restMs = this.isStormy ? 0 : this.referee.quietSince - this.world.now;
      if (restMs <= 0) return;
      await process.sleep(isFirst ? Math.min(restMs, PROBE_MS) : restMs);
      if (isFirst) return;
    }
  }

  async run(): Promise<Verdict> {
    const restore = this.plan.level === 2 ? useTimeOf(this.world) : () => undefined;
    try {
      return await this.#run();
    } finally {
      restore();
    }
  }

  async #run(): Promise<Verdict> {
    for (let i = 0; i < this.plan.processes; i += 1) this.boot();
    if (this.plan.threads > 0) this.java = new JavaSide(this);
    this.faults.begin();
    this.#lookAround();
    await this.world.run(() => this.#isOver());
    const { referee, world } = this;
    if (world.events > this.#most) return this.#verdict();
    // Callers may wait for something that is lost for good.
    const isLost = referee.hasLostData(world.now) || this.#trial.mayBeUsedUp?.(this) === true;
    const isStuck = this.#running > 0;
    if (isStuck && !isLost) {
      referee.broken('progress', `${String(this.#running)} callers never end`);
    }
    if (!isStuck && referee.violation === undefined) await end(this, this.#trial, this.java);
    return this.#verdict();
  }

  /** A process starts, with its callers. */
  boot(): void {
    const { world } = this;
    this.#bootCount += 1;
    const name = `process${String(this.#bootCount)}`;
    const pace = 1 + (world.random.next() - 0.5) / 200;
    const process = new SimulatedProcess(world, name, pace);
    this.in(process, () => {
      this.#start(process);
    });
  }

  /** The process does it now. */
  in(process: SimulatedProcess, work: () => void): void {
    this.world.at(this.world.now, work, process);
  }

  #start(process: SimulatedProcess): void {
    const { world, plan, weather } = this;
    const mishaps = new Mishaps(world, (mishap) => {
      this.faults.strike(mishap, process.name, process);
    });
    const { decorate = (port) => port } = this.watching;
    const site = { world, weather, mishaps, process };
    const observer = this.referee.observer(process);
    const app = new Application(site, this.addresses, plan, decorate, observer);
    this.applications.add(app);
    this.faults.prepare(mishaps);
    const visit = this.#trial.open(app, this);
    for (let i = 0; i < plan.callers; i += 1) {
      const random = world.random.fork(`${process.name}/${String(i)}`);
      this.#count(process, 1);
      const call = async () => {
        await process.sleep(random.next() * 20);
        while (this.referee.sections < plan.sections && this.applications.has(app)) {
          await this.rest(process, i === 0);
          const key = `key${String(random.int(1, plan.keys))}`;
          await visit(key, random);
          await process.sleep(random.chance(0.8) ? 0 : random.next() * 50);
        }
      };
      const ended = () => {
        this.#count(process, -1);
      };
      call().then(ended, (error: unknown) => {
        ended();
        this.referee.broken('reason for an error', `a caller failed: ${String(error)}`);
      });
    }
  }

  /** The process is gone, with its callers. Another one takes its place later. */
  kill(app: Application): void {
    const { process } = app;
    if (!this.applications.delete(app)) return;
    this.#callers.delete(process);
    process.kill();
    this.referee.dead(process, app.context.id);
    this.world.after(this.world.random.next() * 500, () => {
      this.boot();
    });
  }

  /** The service shuts down in an orderly way, and starts anew. */
  shutDown(app: Application): void {
    if (!this.applications.delete(app)) return;
    this.in(app.process, () => {
      void app.close().then(() => {
        this.referee.closed(app.process, app.context.id);
        this.boot();
      });
    });
  }

  #count(process: SimulatedProcess, more: number): void {
    if (!process.isDead) this.#callers.set(process, (this.#callers.get(process) ?? 0) + more);
  }

  get #running(): number {
    const threads = this.java?.running ?? 0;
    return [...this.#callers.values()].reduce((sum, count) => sum + count, threads);
  }

  #isOver(): boolean {
    if (this.referee.violation !== undefined || this.world.events > this.#most) return true;
    if (this.#running === 0 && this.referee.sections >= this.plan.sections) return true;
    const { plan, world, referee } = this;
    // A fair entry whose record was evicted stays for its score: the sum of all waiting times before.
    const longestMs = STUCK_MS * (this.#trial.isFair && plan.faults.includes('eviction') ? 30 : 1);
    return world.now - Math.max(referee.progressAt, referee.quietSince) > longestMs;
  }

  #lookAround(): void {
    this.world.after(LOOK_MS, () => {
      this.referee.lookAround();
      this.#lookAround();
    });
  }

  #verdict(): Verdict {
    const { plan, world, history, referee } = this;
    const { sections, violation } = referee;
    const { events } = world;
    return { plan, sections, events, hash: history.hash, faults: this.faults.counts, violation };
  }
}

/** Processes that use ioredis acquire in this database. Outsiders, and the port, know only the first. */
function databaseOf({ primitive, seed, level, threads }: Plan): number {
  if (level === 1 || threads > 0) return 0;
  return new Random(`${primitive} ${String(seed)} database`).pick([0, 0, 3]);
}

export function simulate(plan: Plan, watching?: Watching): Promise<Verdict> {
  return new Simulation(plan, watching).run();
}
