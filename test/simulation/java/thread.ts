import type { Random } from '../../support/random.js';
import type { Simulation } from '../simulation.js';
import type { Outsider, Stay } from '../referee.js';
import { JavaHold } from './hold.js';
import type { Jvm } from './jvm.js';
import type { JavaObject, Wish } from './objects.js';
import { isRefusal } from './scripts.js';

/** As long as Redisson waits for a subscription. */
const SUBSCRIPTION_MS = 7_500;
const AGAIN_MS = 100;

/** How the threads of a world behave. */
export interface Habits {
  readonly object: (jvm: Jvm, wish: Wish) => JavaObject;
  readonly waitsMs: readonly number[];
  /** The lease of the watchdog, and of each hold if there is no other. */
  readonly leaseMs: number;
  readonly hasOtherLeases: boolean;
}

/** A thread of a Java service, with Redisson's rules of waiting. */
export class JavaThread {
  /** A thread that has failed ends: Redis may know of a hold that it does not know. */
  #id: string;

  constructor(
    private readonly simulation: Simulation,
    private readonly jvm: Jvm,
    private readonly habits: Habits,
    private readonly random: Random,
  ) {
    this.#id = jvm.newThread();
  }

  /** Acquires once, works, and releases. */
  async visit(key: string): Promise<void> {
    try {
      await this.#visit(key);
    } catch (error) {
      // All errors of its client. Others are mistakes of the simulation.
      if (!/^Lock\w+Error$/.test((error as Error).name)) throw error;
      this.#id = this.jvm.newThread();
      await this.jvm.process.sleep(this.random.next() * AGAIN_MS);
    }
  }

  async #visit(key: string): Promise<void> {
    const { random, habits, jvm } = this;
    const waitMs = random.pick(habits.waitsMs);
    const isWatched = !habits.hasOtherLeases || random.chance(0.8);
    const leaseMs = isWatched ? habits.leaseMs : random.int(50, 2 * habits.leaseMs);
    const wish = { key, thread: this.#id, leaseMs, waitMs };
    const object = habits.object(jvm, wish);
    const asked = this.#asked(object, wish);
    const sentAt = await this.#acquire(object, asked);
    if (sentAt === undefined) {
      this.#returned(asked, 'false');
      return;
    }
    const hold = new JavaHold(jvm.process, object, sentAt, leaseMs, isWatched);
    const stay = this.#granted(asked, hold, !isWatched);
    if (await this.#work(stay, hold, object, wish)) return;
    await this.#release(stay, hold, object);
  }

  /** @returns when the script was sent that was granted */
  async #acquire(object: JavaObject, asked: Outsider): Promise<number | undefined> {
    const { outsiders } = this.simulation.referee;
    const { waitTimeMs } = asked;
    outsiders.asked(asked);
    try {
      const { value, sentAt } = await (waitTimeMs === 0 ? object.tryOnce() : object.tryLock());
      if (value === null) {
        outsiders.granted(asked);
        return sentAt;
      }
      return waitTimeMs === 0 ? undefined : await this.#wait(object, asked);
    } catch (error) {
      outsiders.gone(asked);
      this.#returned(asked, 'an exception');
      await this.#giveUp(object);
      throw error;
    } finally {
      outsiders.gone(asked);
    }
  }

  /** Redis is asked after each message, and after the rest of the lease that it knows of. */
  async #wait(object: JavaObject, asked: Outsider): Promise<number | undefined> {
    const { process } = this.jvm;
    const untilMs = asked.at + asked.waitTimeMs;
    const leftMs = () => untilMs - process.clock.now();
    const entry = this.jvm.join(object.channel);
    try {
      await Promise.race([entry.confirmed, process.sleep(Math.min(SUBSCRIPTION_MS, leftMs()))]);
      let isWoken = false;
      while (leftMs() > 0 || isWoken) {
        const { value, sentAt } = await object.tryLock();
        if (value === null) {
          this.simulation.referee.outsiders.granted(asked);
          return sentAt;
        }
        const ms = Math.max(0, leftMs());
        asked.asleepSince = this.simulation.world.now;
        isWoken = await entry.sleep(value >= 0 ? Math.min(value, ms) : ms);
        asked.asleepSince = undefined;
      }
    } finally {
      this.jvm.leave(object.channel);
    }
    this.simulation.referee.outsiders.gone(asked);
    await this.#giveUp(object);
    return undefined;
  }

  /** As long as it takes: it stands in the queue of all. */
  async #giveUp({ giveUp }: JavaObject): Promise<void> {
    for (let isDone = giveUp === undefined; !isDone;) {
      try {
        await giveUp?.();
        isDone = true;
      } catch {
        await this.jvm.process.sleep(AGAIN_MS);
      }
    }
  }

  /** @returns whether the hold has ended within */
  async #work(stay: Stay, hold: JavaHold, object: JavaObject, wish: Wish): Promise<boolean> {
    const { random, simulation, jvm } = this;
    const { referee, plan } = simulation;
    for (let steps = random.int(0, 3); steps > 0; steps -= 1) {
      const isLong = random.chance(0.02);
      const longestMs = isLong ? 1.5 * hold.leaseMs : plan.workMs;
      await jvm.process.sleep(random.next() * longestMs);
      referee.look(stay);
    }
    if (object.isReentrant && hold.remainingMs > 0 && random.chance(0.1)) {
      const { value, sentAt } = await this.#within(stay, hold, object.tryLock());
      if (value !== null) return false;
      hold.prolonged(sentAt);
      await jvm.process.sleep(random.next() * plan.workMs);
      referee.look(stay);
      await this.#within(stay, hold, object.unlock());
    }
    if (object.inside === undefined || !random.chance(0.15)) return false;
    return this.#goOn(stay, hold, object, object.inside(jvm, wish));
  }

  /** A writer reads, and may go on reading. */
  async #goOn(stay: Stay, hold: JavaHold, object: JavaObject, inner: JavaObject): Promise<boolean> {
    const { jvm } = this;
    const { value, sentAt } = await this.#within(stay, hold, inner.tryLock());
    if (value !== null) return false;
    const reading = new JavaHold(jvm.process, inner, sentAt, hold.leaseMs, true);
    try {
      await this.#release(stay, hold, object);
      const asked = this.#asked(inner, { key: stay.key, waitMs: 0 });
      await this.#release(this.#granted(asked, reading, false), reading, inner);
    } finally {
      reading.end();
    }
    return true;
  }

  /** An exception ends the thread, which is sure of nothing. */
  async #within<T>(stay: Stay, hold: JavaHold, step: Promise<T>): Promise<T> {
    try {
      return await step;
    } catch (error) {
      this.#over(stay, hold, error);
      throw error;
    }
  }

  async #release(stay: Stay, hold: JavaHold, object: JavaObject): Promise<void> {
    const { remainingMs } = hold;
    const since = this.jvm.process.clock.now();
    this.#over(stay, hold);
    try {
      await object.unlock();
      this.#returned(stay, 'released');
    } catch (error) {
      this.#returned(stay, 'an exception');
      const wasOurs = this.jvm.process.clock.now() - since < remainingMs;
      this.simulation.referee.outsiders.refused(stay, isRefusal(error) && wasOurs);
      throw error;
    }
  }

  #over(stay: Stay, hold: JavaHold, error?: unknown): void {
    hold.end();
    this.simulation.referee.left(stay);
    if (error !== undefined) this.#returned(stay, 'an exception');
  }

  #asked({ verb, weight }: JavaObject, { key, waitMs }: Pick<Wish, 'key' | 'waitMs'>): Outsider {
    const { history, world, rules } = this.simulation;
    const { process } = this.jvm;
    const call = history.newCall();
    history.add({ type: 'call', call, process: process.name, verb, key, options: { waitMs } });
    // No turn of it is missed: it does not poll.
    const order = {
      askedMs: Infinity,
      parents: [],
      isNested: false,
      inOrder: rules.isFair,
      asleepSince: undefined,
    };
    return { call, process, key, at: world.now, weight, waitTimeMs: waitMs, ...order };
  }

  #granted(asked: Outsider, hold: JavaHold, isFixed: boolean): Stay {
    const { leaseMs, owner } = hold;
    const { process } = this.jvm;
    const grantedAt = process.clock.now();
    const times = { grantedAt, leaseMs, isFixed, endsBy: Infinity, minHoldMs: 0 };
    const stay = { ...asked, ...times, lease: hold };
    this.#returned(asked, 'granted', owner);
    this.simulation.referee.entered(stay);
    return stay;
  }

  #returned({ call, process }: Outsider | Stay, outcome: string, owner?: string): void {
    const more = owner === undefined ? {} : { owner };
    const { history } = this.simulation;
    history.add({ type: 'return', call, process: process.name, outcome, ...more });
  }
}
