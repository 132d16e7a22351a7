import { Random } from '../../support/random.js';
import { Mishaps } from '../../../libs/world/src/mishaps.js';
import type { FaultName } from '../plan.js';
import type { Simulation } from '../simulation.js';
import { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import { Jvm } from './jvm.js';
import { OBJECTS } from './objects.js';
import { JavaThread, type Habits } from './thread.js';

/** Redisson gives them no TTL. */
export const LEFT_BY_JAVA = /^(redisson_lock_(queue|timeout):.*|\{key\d\}:timeout)$/;

/** Java threads that stand in a fair queue again are never served, and stop it for minutes. */
export const REVIVES: readonly FaultName[] = ['restart-old', 'failover'];

const FAULTS = ['stall', 'cut', 'kill'] as const satisfies readonly FaultName[];
/** The longest pause between two faults of Java services. */
const APART_MS = 2_000;
/** Each may leave dead threads in a fair queue, which wait one after the other. */
const MOST_KILLS = 3;
const MESSAGES_LOST = 0.02;
/** The dead stand in a fair queue for as long as they wanted to wait. */
const PATIENT = [0, 20, 500, 20_000, 300_000];
const IMPATIENT = [0, 20, 500, 2_000];

/** Java services with Redisson, beside the processes of a world. */
export class JavaSide {
  readonly #jvms = new Map<Jvm, number>();
  readonly #random: Random;
  readonly #habits: Habits;
  readonly #mishaps: Mishaps;
  #booted = 0;
  #killed = 0;

  constructor(private readonly simulation: Simulation) {
    const { plan, rules } = simulation;
    const object = OBJECTS[plan.primitive];
    if (object === undefined) throw new Error(`Java does not share ${plan.primitive}`);
    this.#random = new Random(`${plan.primitive} ${String(plan.seed)} java`).fork('world');
    this.#habits = {
      object,
      waitsMs: plan.faults.length > 0 || plan.primitive === 'semaphore' ? IMPATIENT : PATIENT,
      leaseMs: rules.java?.leaseMs ?? 0,
      // Readers of Java would end those of Node too early.
      hasOtherLeases: plan.primitive !== 'read-write',
    };
    this.#mishaps = new Mishaps(simulation.world, (mishap) => {
      if (mishap === 'messages') simulation.faults.strike(mishap, 'java');
    });
    // Redisson sends none of these scripts again: that is no fault.
    this.#mishaps.set('gives-up', 1);
    if (plan.faults.includes('messages')) this.#mishaps.set('messages', MESSAGES_LOST);
    const services = plan.threads > 1 ? this.#random.int(1, 2) : 1;
    for (let i = 0; i < services; i += 1) {
      this.#boot(Math.floor((plan.threads + i) / services));
    }
    this.#plan();
  }

  /** The threads that have not ended. */
  get running(): number {
    return [...this.#jvms.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Redisson watches which server is the master. Its script that finds no permit does not write. */
  findMaster(): void {
    const [address] = this.simulation.addresses;
    for (const { connection } of this.#jvms.keys()) {
      for (const link of connection.links) if (link.server !== address?.master) link.cut();
    }
  }

  /** No message is lost from now on. */
  calm(): void {
    this.#mishaps.set('messages', 0);
  }

  close(): void {
    for (const { connection } of this.#jvms.keys()) void connection.close();
  }

  #boot(threads: number): void {
    const { world, weather, addresses, referee } = this.simulation;
    this.#booted += 1;
    const process = new SimulatedProcess(world, `java${String(this.#booted)}`, 1);
    const [address] = addresses;
    if (address === undefined) return;
    const random = this.#random.fork(process.name);
    this.simulation.in(process, () => {
      const jvm = new Jvm({ world, weather, process, mishaps: this.#mishaps }, address, random);
      this.#jvms.set(jvm, threads);
      for (let i = 0; i < threads; i += 1) {
        const ended = (error?: Error) => {
          if (this.#jvms.has(jvm)) this.#jvms.set(jvm, (this.#jvms.get(jvm) ?? 0) - 1);
          if (error === undefined) return;
          referee.broken('reason for an error', `a Java thread failed: ${String(error)}`);
        };
        this.#run(jvm, random.fork(i)).then(() => {
          ended();
        }, ended);
      }
    });
  }

  async #run(jvm: Jvm, random: Random): Promise<void> {
    const { simulation } = this;
    const { plan, referee } = simulation;
    const thread = new JavaThread(simulation, jvm, this.#habits, random);
    await jvm.process.sleep(random.next() * 20);
    while (referee.sections < plan.sections) {
      await simulation.rest(jvm.process, false);
      await thread.visit(`key${String(random.int(1, plan.keys))}`);
      await jvm.process.sleep(random.chance(0.8) ? 0 : random.next() * 50);
    }
  }

  #plan(): void {
    const { world, plan } = this.simulation;
    const faults = FAULTS.filter(
      (one) => plan.faults.includes(one) && (one !== 'kill' || this.#killed < MOST_KILLS),
    );
    if (faults.length === 0 || !this.simulation.isStormy) return;
    world.after(this.#random.next() * APART_MS, () => {
      const [jvm] = this.#random.shuffle([...this.#jvms.keys()]);
      if (jvm !== undefined && !jvm.process.isStill) this.#happen(this.#random.pick(faults), jvm);
      this.#plan();
    });
  }

  #happen(fault: (typeof FAULTS)[number], jvm: Jvm): void {
    const { process, connection } = jvm;
    const ms = this.#random.next() * this.#random.pick([5, 100, this.#habits.leaseMs]);
    // Others wait for what it leaves behind, or holds.
    const lastsMs = fault === 'stall' ? ms : undefined;
    this.simulation.faults.strike(fault, process.name, undefined, lastsMs);
    if (fault === 'stall') process.stall(ms);
    else if (fault === 'kill') this.#kill(jvm);
    else for (const link of connection.links) link.cut();
  }

  #kill(jvm: Jvm): void {
    const { referee, world } = this.simulation;
    const threads = this.#jvms.get(jvm) ?? 0;
    this.#jvms.delete(jvm);
    this.#killed += 1;
    jvm.process.kill();
    referee.outsiders.dead(jvm.process);
    world.after(this.#random.next() * 500, () => {
      this.#boot(threads);
    });
  }
}
