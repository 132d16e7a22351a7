import type { Lease } from '../../libs/redis-lock/src/core/api/lease.js';
import type { AcquireOptions } from '../../libs/redis-lock/src/core/api/lock.js';
import type { Random } from '../support/random.js';
import { Aborted, Answers } from './answers.js';
import type { Application } from './application.js';
import type { Asked, Stay } from './referee.js';
import type { Simulation } from './simulation.js';
import { nestedOptionsOf, optionsOf, tryOptionsOf, type Way } from './ways.js';

type Stays = readonly Stay[];

/** A call that waits for itself gives up soon. */
const REFUSED_MS = 20;

/** One caller of one process. */
export class Caller {
  private readonly world = this.simulation.world;
  private readonly referee = this.simulation.referee;
  private readonly plan = this.simulation.plan;
  private readonly answers = new Answers(this.simulation, this.app.process);

  constructor(
    private readonly simulation: Simulation,
    private readonly app: Application,
    private readonly random: Random,
  ) {}

  /** Calls once, and stays, and leaves. */
  async visit(way: Way): Promise<void> {
    const { random, app } = this;
    const options = optionsOf(way, this.plan.settings, random);
    if (!random.chance(0.35)) {
      const held = await this.#bare(way, options, random.chance(0.3));
      if (held !== undefined) await this.#leave(held);
      return;
    }
    await this.#scoped(way, options, []);
    // A caller never goes on without a pause: its process does other work, too.
    await app.process.sleep(0);
  }

  /** By a lease that the caller releases itself. */
  async #bare(way: Way, given: AcquireOptions, isTry: boolean, parents: Stays = []) {
    const verb = isTry ? 'tryAcquire' : 'acquire';
    const options = isTry ? tryOptionsOf(given) : given;
    const asked = this.answers.asked(way, verb, options, parents);
    try {
      const lease = await way.holdable[verb](this.#withSignal(options));
      if (lease !== null) {
        return { way, asked, lease, stays: this.#granted(way, asked, options, lease) };
      }
      this.answers.refused(asked, null);
    } catch (error) {
      this.answers.refused(asked, error);
    }
    return undefined;
  }

  async #leave({ way, asked, lease, stays }: Exclude<Bare, undefined>): Promise<void> {
    await this.#work(way, stays, lease);
    await this.answers.release(asked, stays, lease);
  }

  async #scoped(way: Way, options: AcquireOptions, parents: Stays): Promise<void> {
    const asked = this.answers.asked(way, 'using', options, parents);
    let stays: Stays | undefined;
    let child: Bare;
    let isOver = false;
    try {
      await way.holdable.using(async (lease) => {
        stays = this.#granted(way, asked, options, lease);
        await this.#work(way, stays, lease);
        if (way.isReentrant && parents.length < 2 && this.random.chance(0.3)) {
          child = await this.#nest(way, stays);
        }
        this.answers.leaves(asked, stays);
      }, this.#withSignal(options));
    } catch (error) {
      if (stays === undefined) this.answers.refused(asked, error);
      else this.answers.lost(asked, stays, error);
      isOver = true;
    }
    if (!isOver) this.answers.ended(asked);
    // It outlives the call that it is nested in.
    if (child !== undefined) await this.#leave(child);
  }

  /** Calls inside of a hold. Returns one that is not over. */
  async #nest(way: Way, stays: Stays): Promise<Bare> {
    const { random, referee } = this;
    const options = () => nestedOptionsOf(way, this.plan.settings, random);
    const before = this.world.now;
    const ends = stays.map(({ endsBy }) => endsBy);
    const { doubts } = this.answers;
    const nested = () => this.#scoped(way, options(), stays);
    await (random.chance(0.3) ? Promise.all([nested(), nested()]) : nested());
    if (doubts === this.answers.doubts) {
      for (const [i, stay] of stays.entries()) {
        if (referee.look(stay)) this.#count(stay, before);
        stay.endsBy = Math.max(ends[i] ?? Infinity, this.#endAfter(stay.leaseMs));
      }
      if (random.chance(0.1)) await this.#outstay(stays);
    }
    if (random.chance(0.05)) await this.#waitForItself(way);
    const inner = way.inside !== undefined && random.chance(0.5) ? way.inside : way;
    return random.chance(0.1) ? this.#bare(inner, options(), false, stays) : undefined;
  }

  /** A lease that ends by itself still does so after nested calls. */
  async #outstay(stays: Stays): Promise<void> {
    await this.app.process.sleep(this.random.next() * 3 * this.plan.settings.watchdogLeaseMs);
    for (const stay of stays) this.referee.look(stay);
  }

  /** A lease that lasts for so long from now on has certainly ended then. */
  #endAfter(ms: number): number {
    return this.world.now - this.app.process.suspendedMs + 1.01 * ms + SPARE_MS;
  }

  /** A new owner, which cannot be granted what its own caller holds. */
  async #waitForItself(way: Way): Promise<void> {
    const options = { nesting: 'wait', waitTimeMs: REFUSED_MS } as const;
    const held = await this.#bare({ ...way, inOrder: false }, options, false);
    if (held !== undefined) await this.#leave(held);
  }

  #count(stay: Stay, since: number): void {
    const { referee, simulation, world } = this;
    // A release that takes longer goes on after its call.
    const isAnswered = simulation.rules.isAnswered && world.now - since < ANSWERED_MS;
    const isSure = isAnswered || !referee.wasDisturbed(stay.process, since);
    if (isSure) referee.counts(stay);
  }

  async #work(way: Way, stays: Stays, lease: Lease): Promise<void> {
    const { random, plan, app, referee } = this;
    const { watchdogLeaseMs } = plan.settings;
    for (let steps = random.int(0, 3); steps > 0; steps -= 1) {
      const isLong = random.chance(0.02);
      await app.process.sleep(random.next() * (isLong ? 2.5 * watchdogLeaseMs : plan.workMs));
      for (const stay of stays) referee.look(stay);
      if (random.chance(0.02)) {
        for (const stay of stays) stay.endsBy = Infinity;
        // Those that overlap share a script. The release may come before it.
        const renewals = Array.from({ length: random.int(1, 4) }, () => lease.renew());
        const renewing = Promise.allSettled(renewals);
        if (random.chance(0.5)) await renewing;
      }
    }
    await way.work?.(lease);
  }

  #withSignal(options: AcquireOptions): AcquireOptions {
    const { random, app } = this;
    if (!random.chance(0.08)) return options;
    const abort = new AbortController();
    app.process.clock.after(random.next() * 30, () => {
      abort.abort(new Aborted());
    });
    return { ...options, signal: abort.signal };
  }

  #granted(way: Way, asked: Asked, options: AcquireOptions, lease: Lease): Stays {
    const parts = way.parts?.(lease) ?? [[way.key, lease] as const];
    const stays = parts.map(([key, part]) => this.#stay(asked, options, key, part));
    this.answers.granted(asked, lease);
    // The lease of a hold is the longest of its calls.
    for (const stay of stays) prolong(stay.parents, stay);
    this.referee.granted(asked, stays);
    return stays;
  }

  #stay(asked: Asked, options: AcquireOptions, key: string, lease: Lease): Stay {
    const { now } = this.world;
    const { leaseTimeMs, maxHoldMs, minHoldMs = 0 } = options;
    const parentMs = asked.parents.map((parent) => parent.leaseMs);
    const leaseMs = Math.max(asked.askedMs, minHoldMs, ...parentMs, asked.isNested ? 3_000 : 0);
    const isFixed = leaseTimeMs !== undefined || maxHoldMs !== undefined;
    const isApart = isFixed && !asked.isNested && minHoldMs === 0;
    const endsBy = isApart ? this.#endAfter((maxHoldMs ?? 0) + leaseMs) : Infinity;
    const times = { grantedAt: now, leaseMs, endsBy, minHoldMs };
    // Few callers read it.
    const signal = this.random.chance(0.3) ? lease.signal : undefined;
    return { ...asked, ...times, key, lease, isFixed, signal };
  }
}

/** Around a nested call. */
function prolong(stays: Stays, inner: Stay): void {
  for (const stay of stays) {
    stay.endsBy = Infinity;
    stay.leaseMs = Math.max(stay.leaseMs, inner.leaseMs);
    stay.minHoldMs = Math.max(stay.minHoldMs, inner.minHoldMs);
    prolong(stay.parents, inner);
  }
}

type Bare = { way: Way; asked: Asked; lease: Lease; stays: Stays } | undefined;

/** A release that has taken no longer was answered. */
const ANSWERED_MS = 1_900;
/** A renewal is late by less. */
const SPARE_MS = 60;
