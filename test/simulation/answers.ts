import {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockLimitError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
} from '../../libs/redis-lock/src/core/api/errors.js';
import type { Lease } from '../../libs/redis-lock/src/core/api/lease.js';
import type { AcquireOptions } from '../../libs/redis-lock/src/core/api/lock.js';
import { of, SLACK_MS, type Asked, type Stay } from './referee.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { Simulation } from './simulation.js';
import type { Way } from './ways.js';

/** A caller waits for Redis for so long, even if it waits for no holder. */
const PATIENCE_MS = 250;
const RELEASE_MS = 2_000;

/** A caller has stopped its call. */
export class Aborted extends Error {}

/** The calls of a process and their answers, told to the history and judged by the referee. */
export class Answers {
  /** The calls after which more may be in Redis than their caller knows. */
  doubts = 0;
  private readonly world = this.simulation.world;
  private readonly history = this.simulation.history;
  private readonly referee = this.simulation.referee;
  private readonly plan = this.simulation.plan;

  constructor(
    private readonly simulation: Simulation,
    private readonly process: SimulatedProcess,
  ) {}

  asked(way: Way, verb: string, options: AcquireOptions, parents: readonly Stay[]): Asked {
    const { world, history, plan, process } = this;
    const { key, weight, inOrder } = way;
    const call = history.newCall();
    history.add({ type: 'call', call, process: process.name, verb, key, options });
    const waitTimeMs = options.waitTimeMs ?? (verb === 'tryAcquire' ? 0 : 10_000);
    const { leaseTimeMs, watchdogLeaseMs = plan.settings.watchdogLeaseMs } = options;
    const askedMs = leaseTimeMs ?? watchdogLeaseMs;
    const isNested = parents.length > 0;
    const order = { isNested, inOrder: inOrder && plan.settings.maxWaitersPerKey > 100 };
    const wish = { weight, waitTimeMs, askedMs };
    const asked = { call, process, key, at: world.now, ...wish, parents, ...order };
    this.referee.asked(asked);
    return asked;
  }

  /** The holder has done its work. */
  leaves(asked: Asked, stays: readonly Stay[]): void {
    const { call, process } = asked;
    this.history.add({ type: 'release', call, process: process.name });
    for (const stay of stays) this.referee.left(stay);
  }

  granted(asked: Asked, { fencingToken: token, owner }: Lease): void {
    this.#return(asked, 'granted', { owner, ...(token === undefined ? {} : { token }) });
  }

  ended(asked: Asked): void {
    this.#return(asked, 'released');
  }

  async release(asked: Asked, stays: readonly Stay[], lease: Lease): Promise<void> {
    const { referee, process } = this;
    const before = stays.map((stay) => [stay, referee.leaving(stay)] as const);
    this.leaves(asked, stays);
    const since = process.clock.now();
    const begunAt = this.world.now;
    let failure: unknown;
    try {
      await lease.release();
      this.#return(asked, 'released');
    } catch (error) {
      failure = error;
      this.lost(asked, stays, error);
    }
    // A release of several leases rejects with the error of one.
    if (stays.length === 1) for (const one of before) referee.released(...one, failure);
    const tookMs = process.clock.now() - since;
    if (tookMs > RELEASE_MS + SLACK_MS && !referee.wasDisturbed(process, begunAt)) {
      referee.broken('release', `the release of ${of(asked)} took ${String(tookMs)} ms`);
    }
  }

  refused(asked: Asked, error: unknown): void {
    const { referee } = this;
    this.doubts += 1;
    this.#return(asked, error === null ? 'null' : outcomeOf(error));
    referee.refused(asked, error === null || error instanceof LockTimeoutError);
    const { process, at, waitTimeMs } = asked;
    const waitedMs = this.world.now - at;
    const isDisturbed = referee.wasDisturbed(process, at - 5_000);
    if (waitedMs > Math.max(PATIENCE_MS, waitTimeMs) + SLACK_MS && !isDisturbed) {
      referee.broken('waiting time', `${of(asked)} waited ${String(waitedMs)} ms`);
    }
    if (error === null || isExpected(error)) return;
    // The latter after three grants that came too late.
    const isOfFaults = error instanceof LockBackendError || error instanceof LockArgumentError;
    if (isOfFaults && isDisturbed) return;
    // The lease of the surrounding hold, or of the first of several locks.
    if (error instanceof LeaseLostError && (asked.isNested || isDisturbed)) return;
    // A semaphore may have been set anew with fewer permits.
    if (error instanceof LockStateError && referee.hasLostData(0)) return;
    referee.broken('reason for an error', `${of(asked)}: ${textOf(error)}`);
  }

  lost(asked: Asked, stays: readonly Stay[], error: unknown): void {
    const { referee } = this;
    this.doubts += 1;
    this.#return(asked, outcomeOf(error));
    for (const stay of stays) referee.left(stay);
    if (error instanceof LeaseLostError) {
      for (const stay of stays) referee.lost(stay, error.reason);
      return;
    }
    const isDisturbed = referee.wasDisturbed(asked.process, asked.at);
    if (error instanceof LockBackendError && isDisturbed) return;
    referee.broken('reason for an error', `${of(asked)}: ${textOf(error)}`);
  }

  #return(asked: Asked, outcome: string, more: { owner?: string; token?: number } = {}): void {
    const { call, process } = asked;
    this.history.add({ type: 'return', call, process: process.name, outcome, ...more });
  }
}

function isExpected(error: unknown): boolean {
  const kinds = [LockTimeoutError, LockLimitError, LockShutdownError, Aborted];
  return kinds.some((kind) => error instanceof kind);
}

/** A caller whose call rejects has this outcome in the history. */
export function outcomeOf(error: unknown): string {
  if (error instanceof LeaseLostError) return `LeaseLostError ${error.reason}`;
  return error instanceof Error ? error.constructor.name : 'an error of no kind';
}

function textOf(error: unknown): string {
  return error instanceof Error ? String(error) : outcomeOf(error);
}
