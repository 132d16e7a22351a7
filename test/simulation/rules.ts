import { OF_JAVA } from './java/jvm.js';
import type { FaultName, Plan, Settings } from './plan.js';
import type { Trial } from './primitives.js';
import type { JavaRules, Rules } from './referee.js';
import { nextOf, unheardOf } from './states.js';
import type { Address, SimulatedServer } from './simulated-server.js';

/** With messages, a waiter learns of a free lock within this time. */
const TOLD_MS = 50;
/** A process goes on for 20 ms, or for three polls beside others that poll. */
const BATCH_MS = 20;
/** Then it stands back for one. */
const STANDS_BACK_MS = 128;

/** Node waiters look so often whether the next in a fair queue is gone. */
const LOOK_MS = 1_000;

/** The waiters of several dead processes, one after the other. */
const FORGOTTEN_MS = 300_000;

/** A request of a process that is cut off may arrive so late. */
const LATE_MS = 10_000;

/** After these, an answer may be about an earlier delivery, or about another server. */
const UNCERTAIN: readonly FaultName[] = [
  // It may take one of several keys.
  'eviction',
  ...(['unsent', 'unanswered', 'gives-up', 'cut', 'half-open', 'silence'] as const),
  ...(['restart', 'restart-old', 'restart-empty', 'failover', 'redis-clock', 'pause'] as const),
];

/** After these, a call may have no answer, or one that lasts for a while only. */
const UNANSWERED: readonly FaultName[] = ['gives-up', 'full', 'failover'];
/** After these, a subscription is not confirmed in time, or is none. */
const DEAF: readonly FaultName[] = ['half-open', 'silence', 'latency', 'pause', 'stall'];
/** After these, a subscription is made anew. Until it is confirmed, Redis cannot hear that its process dies. */
const BREAKS: readonly FaultName[] = [
  ...(['cut', 'unsent', 'unanswered'] as const),
  ...(['restart', 'restart-old', 'restart-empty', 'failover'] as const),
];
const SMOOTH: readonly FaultName[] = ['shutdown', 'messages', 'wall-clock', 'delete'];

export function rulesOf(plan: Plan, trial: Trial, addresses: readonly Address[]): Rules {
  const { watchdogLeaseMs, claimTimeMs, pollIntervalMs, wakeUp, maxWaitersPerKey } = plan.settings;
  const leaseMs = Math.max(3 * watchdogLeaseMs, 3_000, claimTimeMs);
  const servers = new Servers(addresses);
  const java = plan.threads === 0 ? undefined : javaRulesOf(plan, trial, leaseMs);
  // Beside Java, a process queues by a claim that its release writes, before it subscribes.
  const isHeard =
    java === undefined &&
    wakeUp === 'message' &&
    !DEAF.some((fault) => plan.faults.includes(fault));
  return {
    held: (key, owner) => {
      const all = servers.all((one) => trial.state.held(one, key, owner));
      const found = all.filter((one) => one !== undefined);
      return 2 * found.length > all.length ? found[0] : undefined;
    },
    owners: (key) => {
      const all = new Set(servers.all((one) => trial.state.owners(one, key)).flat());
      return [...all].filter((owner) => !java || !owner.startsWith(OF_JAVA));
    },
    waitsForScore: (key) =>
      trial.isFair &&
      servers
        .all((server) => ({ ...nextOf(server, key), now: server.clock.wall() }))
        .some(
          ({ owner = '', until = Infinity, isForgotten, now }) =>
            (owner.startsWith(OF_JAVA) || isForgotten) && until + LOOK_MS > now,
        ),
    unheard: (key) => servers.all((one) => unheardOf(one, key)).flat(),
    isKnown: trial.isKnown,
    isCounted: trial.isCounted,
    isFree: (key) => {
      const all = servers.all((one) => trial.isFree(one, key));
      return 2 * all.filter(Boolean).length > all.length;
    },
    lossMs: (fault) => {
      if (!trial.losesBy(fault)) return undefined;
      if (trial.losesForGood?.(fault) === true) return Infinity;
      return fault === 'force-release' ? LATE_MS : 0;
    },
    freeMs: freeMsOf(plan, trial),
    pollMs: pollIntervalMs,
    isOfPermits: plan.primitive === 'semaphore' && !java,
    settleMs: leaseMs + Math.max(5_000, 3 * pollIntervalMs) + moreMsOf(plan, trial),
    isFair: trial.isFair,
    batch: trial.hasTurns && !java ? batchOf(plan) : { most: 0, ms: 0 },
    isOfTwoSides: trial.isOfTwoSides === true,
    isCertain: !UNCERTAIN.some((fault) => plan.faults.includes(fault)),
    isClockSure: !plan.faults.includes('redis-clock'),
    isAnswered: !UNANSWERED.some((fault) => plan.faults.includes(fault)),
    isSmooth: plan.faults.every((fault) => SMOOTH.includes(fault)),
    unnoticedMs: (longestMs) => {
      if (!plan.faults.includes('suspension')) return 0;
      return Math.min(1_000, Math.max(50, longestMs / 10)) + 1;
    },
    isHeard,
    knowsDeaths: isHeard && !BREAKS.some((fault) => plan.faults.includes(fault)),
    isOfSeveralKeys: plan.primitive === 'multi',
    maxWaitersPerKey,
    java,
  };
}

/** A fair queue that has lost its records keeps the dead until their scores are over. */
function moreMsOf({ faults }: Plan, { isFair, settleMs = 0 }: Trial): number {
  return isFair && faults.includes('eviction') ? settleMs + FORGOTTEN_MS : settleMs;
}

function freeMsOf({ settings }: Plan, trial: Trial): number {
  if (trial.isTold && settings.wakeUp === 'message') return TOLD_MS;
  return settings.pollIntervalMs + (isAmongPolls(settings) ? STANDS_BACK_MS : 0);
}

function batchOf({ settings }: Plan): { most: number; ms: number } {
  return isAmongPolls(settings)
    ? { most: Infinity, ms: 3 * STANDS_BACK_MS }
    : { most: 8, ms: BATCH_MS };
}

/** Others may poll without a queue: there is no order among processes. */
function isAmongPolls({ wakeUp, interop }: Settings): boolean {
  return wakeUp === 'poll' && interop !== 'none';
}

function javaRulesOf(
  { settings }: Plan,
  { isFair, isOfTwoSides }: Trial,
  leaseMs: number,
): JavaRules {
  return {
    // A shorter lease of a Java reader would end those of others.
    leaseMs: isOfTwoSides === true ? leaseMs : settings.watchdogLeaseMs,
    isShared: !isFair && settings.wakeUp === 'message',
    wakesOnlySleepers: isOfTwoSides === true,
  };
}

/** The masters, at this moment. */
class Servers {
  constructor(private readonly addresses: readonly Address[]) {}

  all<T>(says: (server: SimulatedServer) => T): T[] {
    return this.addresses.map(({ master }) => {
      master.store.now = Math.floor(master.clock.wall());
      return says(master);
    });
  }
}
