import type { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import type { Facts } from './facts.js';
import { MARGIN_MS, of, ON_ITS_WAY_MS, type Asked, type Stay } from './promises.js';

/** The sections of one process in a row. */
interface Run {
  readonly process: SimulatedProcess;
  readonly since: number;
  count: number;
}

/** More would be starvation. */
const MOST_PASSED = 25;

/** The callers of a process, or of all processes, in the order of their calls; processes in turn. */
export class Order {
  /** The present run of each key. */
  readonly #runs = new Map<string, Run>();
  /** By key, when the last run of each process began. */
  readonly #turns = new Map<string, Map<SimulatedProcess, number>>();
  /** By key, when a caller of each process left last without a grant. */
  readonly #left = new Map<string, Map<SimulatedProcess, number>>();
  /** By key, since when nothing has freed the lock but releases. */
  readonly #orderlySince = new Map<string, number>();

  /** How many later and smaller requests have passed a request for several permits. */
  readonly #passed = new Map<Asked, number>();

  constructor(private readonly facts: Facts) {}

  granted(stay: Stay): void {
    if (this.facts.rules.isOfPermits) this.#checkPermits(stay);
    const freesMs = stay.leaseMs + stay.minHoldMs;
    if (stay.isNested && stay.minHoldMs > 0) this.disorder(stay.key, freesMs);
    if (!stay.inOrder || stay.isNested) return;
    for (const other of this.facts.waiting)
      if (isBeside(stay, other)) this.#checkCallers(stay, other);
    if (this.facts.rules.batch.most > 0) this.#checkRuns(stay);
    if (stay.minHoldMs > 0 || stay.isFixed) this.disorder(stay.key, freesMs);
  }

  /** A lock that a lease or `minHoldMs` frees is for everyone. */
  disorder(key: string, ms = 0): void {
    const until = this.facts.now + ms + ON_ITS_WAY_MS;
    this.#orderlySince.set(key, Math.max(until, this.#orderlySince.get(key) ?? 0));
  }

  /** A single attempt has no turn. */
  refused({ key, process, waitTimeMs }: Asked): void {
    if (waitTimeMs === 0) return;
    const left = this.#left.get(key) ?? new Map<SimulatedProcess, number>();
    this.#left.set(key, left.set(process, this.facts.now));
  }

  /** Small requests do not starve a large one. */
  #checkPermits(stay: Stay): void {
    const { facts } = this;
    // A poll has luck or none: no number of others is too many.
    if (!facts.rules.isHeard) return;
    // Callers of one process wait for each other.
    const heads = new Map<SimulatedProcess, Asked>();
    for (const one of facts.waiting) {
      const isWaiting = one.key === stay.key && one.waitTimeMs > 0 && !one.process.isStill;
      if (isWaiting && !heads.has(one.process)) heads.set(one.process, one);
    }
    const oldest = [...heads.values()].find((one) => one.weight > stay.weight);
    if (oldest === undefined || oldest.at + 2 * ON_ITS_WAY_MS > stay.at) return;
    if (!facts.isQuiet(facts.now - oldest.at)) return;
    const passed = (this.#passed.get(oldest) ?? 0) + 1;
    this.#passed.set(oldest, passed);
    if (passed <= MOST_PASSED) return;
    facts.broken('permits', `${String(passed)} smaller requests have passed ${of(oldest)}`);
  }

  #checkCallers(stay: Stay, other: Asked): void {
    const { facts } = this;
    const isOfOrder = facts.rules.isFair || other.process === stay.process;
    const marginMs = other.process === stay.process ? 0.01 : MARGIN_MS;
    if (!isOfOrder || other.at + marginMs >= stay.at) return;
    if (facts.rules.isFair && facts.rules.java !== undefined && !facts.isInScore(other)) return;
    if (!facts.isQuiet(facts.now - other.at)) return;
    facts.broken('order of callers', `${of(stay)} acquired ${stay.key} before ${of(other)}`);
  }

  #checkRuns(stay: Stay): void {
    const { facts } = this;
    const { key, process } = stay;
    const run = this.#runs.get(key);
    const turns = this.#turns.get(key) ?? new Map<SimulatedProcess, number>();
    const { most, ms } = facts.rules.batch;
    this.#turns.set(key, turns);
    // Among polls, a caller that comes while the lock is free may find it before those that wait.
    const isLucky = most === Infinity && stay.at >= (facts.changedAt.get(key) ?? 0);
    if (run?.process !== process || isLucky) {
      const last = turns.get(process);
      if (last !== undefined && most < Infinity) this.#checkSince(stay, last, 'has a second turn');
      this.#runs.set(key, { process, since: facts.now, count: 1 });
      turns.set(process, facts.now);
      return;
    }
    run.count += 1;
    const lastedMs = facts.now - run.since;
    if (run.count <= most && lastedMs <= ms + MARGIN_MS) return;
    // Without others, a run has no end. It counts from the first of them on.
    this.#checkSince(
      stay,
      run.since,
      `has a run of ${String(run.count)} in ${String(lastedMs)} ms`,
    );
  }

  /** Whether another process has waited all the time since then. */
  #checkSince(stay: Stay, since: number, what: string): void {
    const { facts } = this;
    const { key, process } = stay;
    if (since < (this.#orderlySince.get(key) ?? 0)) return;
    const others = [...facts.waiting].filter(
      (other) => isBeside(stay, other) && other.process !== process,
    );
    // A turn that is shorter than the pause between polls may end before its poll. Then all may enter.
    const { isHeard, pollMs } = facts.rules;
    if (!isHeard && others.some(({ askedMs }) => askedMs <= pollMs)) return;
    for (const other of others) {
      const from = since - ON_ITS_WAY_MS;
      const hasLeft = (this.#left.get(key)?.get(other.process) ?? -Infinity) >= from;
      const hasHadTurn = (this.#turns.get(key)?.get(other.process) ?? -Infinity) >= since;
      if (other.at > from || hasLeft || hasHadTurn) continue;
      if (!facts.isQuiet(facts.now - other.at)) continue;
      facts.broken('turns of processes', `${of(stay)} ${what} on ${key}, and ${of(other)} waits`);
    }
  }
}

/** Both wait for the same lock, one after the other. */
function isBeside(stay: Stay, other: Asked): boolean {
  if (other.key !== stay.key || !other.inOrder || other.isNested) return false;
  return other.waitTimeMs > 0 && !other.process.isStill;
}
