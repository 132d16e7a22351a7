import { systemClock, type Clock } from '../../core/time/clock.js';
import { TimerHeap } from '../../core/time/timer-heap.js';
import { describeValue, LockConfigurationError, LockStateError } from '../../core/api/errors.js';
import { Deadline } from '../../core/time/deadline.js';
import { tell, type LockObserver } from '../../core/api/observer.js';
import { LEASE, timeProblem } from '../../core/api/options.js';
import {
  ANSWER_MS,
  type ChannelListener,
  type KeyPlace,
  type RedisConnection,
} from '../../core/redis/connection.js';
import { untilAnswered } from '../../core/redis/retry.js';
import { Ballot, quorumOf } from './ballot.js';
import { VotingNode } from './voting-node.js';

/** A node that takes longer has not voted. For short leases it is a tenth of the lease. */
const LONGEST_VOTE_MS = ANSWER_MS / 2;
const SHORTEST_VOTE_MS = 100;
/** Messages of a release arrive from all nodes within this time. Otherwise a poll finds it. */
const MESSAGE_MS = ANSWER_MS / 2;

export interface QuorumSettings {
  /**
   * The longest lease that any process of the fleet requests. After a restart, a node does not vote
   * for this time.
   */
  readonly longestLeaseMs: number;
  readonly clock?: Clock;
  readonly observer?: LockObserver | undefined;
}

/** The independent servers of a red lock, as one connection. A majority decides. */
export class QuorumConnection implements RedisConnection {
  readonly isUp = true;
  readonly nodes: readonly VotingNode[];
  /** The number of nodes in a majority. */
  readonly quorum: number;
  readonly longestLeaseMs: number;
  readonly clock: Clock;
  readonly times: TimerHeap;
  readonly #upListeners = new Set<() => void>();

  /** @throws {LockConfigurationError} there is no node, or one is listed twice */
  constructor(
    connections: readonly RedisConnection[],
    { longestLeaseMs, clock = systemClock, observer }: QuorumSettings,
  ) {
    checkConnections(connections);
    checkLongestLease(longestLeaseMs);
    this.clock = clock;
    this.times = new TimerHeap(clock);
    this.longestLeaseMs = longestLeaseMs;
    this.quorum = quorumOf(connections.length);
    const onKnown = () => {
      for (const listener of [...this.#upListeners]) listener();
    };
    this.nodes = connections.map(
      (connection) => new VotingNode(connection, this.times, longestLeaseMs, onKnown),
    );
    const message = weaknessOf(connections.length);
    if (message !== undefined) tell(observer, { type: 'warning', message });
  }

  get sendCount(): number {
    return this.nodes.reduce((sum, { connection }) => sum + Number(connection.sendCount), 0);
  }

  /**
   * Resolves once every node that answers has identified itself.
   * @throws {LockConfigurationError} a node is a replica or part of a Cluster, or two are one
   * server
   */
  async check(): Promise<void> {
    await this.#identifyAll();
    const poll = this.poll((node) => node.admit(ANSWER_MS));
    await poll.until(() => poll.isComplete || undefined);
    const error = poll.error();
    if (error instanceof LockConfigurationError) throw error;
    this.refuseMisfits();
  }

  /** Nodes that do not answer in time are identified later. */
  async #identifyAll(): Promise<void> {
    const end = this.clock.now() + ANSWER_MS;
    const known = this.nodes.map(({ connection, guard }) => {
      const identify = async () => {
        await guard.identify();
        return { value: undefined, sentAt: end, resent: false };
      };
      return untilAnswered({ connection, clock: this.clock }, () => end, identify);
    });
    await new Deadline(this.times, ANSWER_MS, undefined).race(Promise.allSettled(known));
  }

  /**
   * @throws {LockConfigurationError} a node is known to be no independent master, or two nodes are
   * one server, which would vote twice
   */
  refuseMisfits(): void {
    for (const { guard } of this.nodes) if (guard.misfit !== undefined) throw guard.misfit;
    const runIds = this.nodes.map(({ guard }) => guard.runId);
    runIds.forEach((runId, i) => {
      const twin = runIds.indexOf(runId);
      if (runId === undefined || twin === i) return;
      throw new LockConfigurationError(
        `Nodes ${String(twin + 1)} and ${String(i + 1)} of the red lock are one and the same server; ` +
          'list each server once',
      );
    });
  }

  /** The time that a node has for its vote, in milliseconds. */
  limitMs(leaseTimeMs: number): number {
    return Math.min(LONGEST_VOTE_MS, Math.max(SHORTEST_VOTE_MS, leaseTimeMs / 10));
  }

  poll<R>(ask: (node: VotingNode) => Promise<R>): Ballot<R> {
    return new Ballot(this.nodes.map(ask), this.quorum);
  }

  /** Each node runs its own scripts: no server could run one for all. */
  run(): Promise<never> {
    return Promise.reject(new LockStateError('Only the nodes of a red lock can run its scripts'));
  }

  /** A message counts once a majority has sent it. Before that, the lock is not free. */
  listen(channel: string, listener: ChannelListener): () => void {
    const heard = new Majority(this, MESSAGE_MS);
    const confirmed = new Set<VotingNode>();
    const stops = this.nodes.map((node) =>
      node.connection.listen(channel, {
        message: (payload) => {
          if (heard.isReachedBy(node)) listener.message(payload);
        },
        confirmed: () => {
          const isAgain = confirmed.has(node);
          confirmed.add(node);
          if (isAgain || confirmed.size === this.quorum) listener.confirmed();
        },
      }),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Calls back each time that a node has come back and identified itself. */
  onUp(listener: () => void): () => void {
    this.#upListeners.add(listener);
    return () => {
      this.#upListeners.delete(listener);
    };
  }

  place(): KeyPlace {
    return EVERYWHERE;
  }

  async close(): Promise<void> {
    this.#upListeners.clear();
    await Promise.all(this.nodes.map((node) => node.close()));
  }
}

const EVERYWHERE: KeyPlace = { node: '', slot: 0 };

/**
 * Calls back when a majority of the nodes has sent the same message. If each message counted, waiters
 * would send 15 to 30 % more scripts, by the simulation.
 */
class Majority {
  readonly #heard = new Map<VotingNode, number>();
  /** The nodes that have not yet sent the message of the majority. */
  readonly #late = new Set<VotingNode>();
  #reachedAt = -Infinity;

  constructor(
    private readonly connection: QuorumConnection,
    private readonly withinMs: number,
  ) {}

  isReachedBy(node: VotingNode): boolean {
    const { clock, nodes, quorum } = this.connection;
    const since = clock.now() - this.withinMs;
    if (this.#late.delete(node) && this.#reachedAt > since) return false;
    for (const [other, at] of this.#heard) if (at < since) this.#heard.delete(other);
    this.#heard.set(node, clock.now());
    if (this.#heard.size < quorum) return false;
    this.#late.clear();
    for (const other of nodes) if (!this.#heard.has(other)) this.#late.add(other);
    this.#heard.clear();
    this.#reachedAt = clock.now();
    return true;
  }
}

function checkConnections(connections: unknown): void {
  if (!Array.isArray(connections) || connections.length === 0) {
    const given = Array.isArray(connections) ? 'an empty list' : describeValue(connections);
    throw new LockConfigurationError(
      `redLock.nodes must be a list of independent Redis servers, preferably three or five, not ${given}`,
    );
  }
  if (new Set(connections).size < connections.length) {
    throw new LockConfigurationError('redLock.nodes lists the same client twice');
  }
}

function checkLongestLease(value: unknown): void {
  const problem = timeProblem('redLock.longestLeaseMs', value, LEASE);
  if (problem !== undefined) throw new LockConfigurationError(problem);
}

function weaknessOf(nodes: number): string | undefined {
  if (nodes < 3) {
    return `A red lock of ${String(nodes)} node${nodes === 1 ? '' : 's'} does not survive the loss of a node: use three or five`;
  }
  if (nodes % 2 === 1) return undefined;
  return `A red lock of ${String(nodes)} nodes survives no more losses than one of ${String(nodes - 1)}: use an odd number`;
}
