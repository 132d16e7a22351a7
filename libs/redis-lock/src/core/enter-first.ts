import { leaseOf, requestOf, type Acquisition, type Attempt } from './acquisition.js';
import type { Candidate, Channels } from './waiting/contender.js';
import type { WaitQueues } from './waiting/wait-queues.js';
import type { Claim, AcquireAnswer, AcquireRequest, OwnerId } from './holding/protocol.js';
import { nodesChannel } from './lua/outsiders.js';
import { Hold } from './holding/hold.js';
import type { Reply } from './redis/connection.js';
import { waitInTurn, type Turn } from './waiting/waiter.js';

/** Acquires a lease for a new owner, in turn with the other callers of this process. */
export async function enterFirst(
  acquisition: Acquisition,
  contenders: WaitQueues,
): Promise<Attempt> {
  const { context, protocol, name, key, options } = acquisition;
  const owner = protocol.newOwner?.(options) ?? context.newOwner();
  const hold = new Hold(protocol, name, key, owner, context.clock, options.label);
  const turn = new FirstTurn(acquisition, hold);

  const answer = await waitInTurn(acquisition, contenders, turn);
  if ('blockedBy' in answer) return answer;

  const { handed, fencingToken } = answer.value;
  hold.confirm(answer.sentAt, handed?.leaseTimeMs ?? options.leaseTimeMs);
  if (handed?.leaseTimeMs !== undefined) hold.owedLeaseMs = options.leaseTimeMs;
  const use = context.keysInUse.begin(key);
  use.granted = undefined;
  if (hold.remainingMs > 0 && !hold.isSuspended()) {
    hold.use = use;
    hold.grantedAt = Math.floor(context.clock.now());
    if (protocol.grantChannel !== undefined) {
      const turnSince = handed?.since ?? Math.floor(answer.sentAt);
      if (protocol.waiting === 'in turn') contenders.holds(hold, handed?.passes ?? 0, turnSince);
      else hold.successors = contenders;
    }
    return leaseOf(acquisition, hold, fencingToken, undefined);
  }
  // The answer took longer than the lease, or the machine stood still: what was granted may be over.
  use.end();
  acquisition.wasGranted = true;
  void turn.giveUp();
  return 'again';
}

/** The turn of a new owner. */
class FirstTurn implements Turn {
  readonly key: string;
  readonly line: string;
  readonly isLed: boolean;
  readonly leaseTimeMs: number;
  readonly leavesTrace: boolean;
  readonly isLetIn: boolean;
  readonly #request: AcquireRequest;

  constructor(
    private readonly acquisition: Acquisition,
    private readonly hold: Hold,
  ) {
    const { protocol, options, companion, wasGranted } = acquisition;
    this.key = hold.key;
    this.line = protocol.waiting === 'in turn' ? hold.key : hold.owner;
    this.isLed = protocol.waiting === 'each';
    this.leaseTimeMs = options.leaseTimeMs;
    this.leavesTrace = protocol.remembersWaiters;
    this.isLetIn = companion !== undefined || wasGranted;
    this.#request = requestOf(acquisition, 1);
  }

  get candidate(): Candidate {
    const { fenced, minReplicas } = this.acquisition.options;
    return { owner: this.hold.owner, starts: !fenced && minReplicas === 0 };
  }

  channels(): Channels {
    const { protocol } = this.acquisition;
    const { key, owner } = this.hold;
    const wakeUp = protocol.wakeUpChannel(key, owner);
    const grants = protocol.grantChannel?.(key, owner);
    const nodes = protocol.countsOutsiders === true ? nodesChannel(wakeUp) : undefined;
    if (grants === undefined) return { wakeUp, nodes };
    // On a channel of its own nobody is told of others: only whoever leaves gives back.
    if (grants === wakeUp) return { wakeUp, handOff: { grants } };
    const giveBack = (stray: OwnerId) => this.withdraw(stray);
    return { wakeUp, nodes, handOff: { grants, giveBack } };
  }

  withdraw(owner: OwnerId): Promise<void> {
    const { keeper, settings } = this.acquisition.context;
    const withdraw = () => this.#withdraw(owner);
    return keeper.insist(this.acquisition, settings.claimTimeMs, withdraw);
  }

  ask(claim?: Claim): Promise<Reply<AcquireAnswer>> {
    if (claim !== undefined) this.hold.mayBeTold = true;
    return this.hold.enter(this.#request, claim);
  }

  isNamedBy(running: Promise<unknown>): void {
    this.hold.mayBeTold = true;
    this.hold.occupy(running);
  }

  giveUp(): Promise<void> {
    const { hold, leaseTimeMs } = this;
    const { keeper } = this.acquisition.context;
    return keeper.abandon(hold, leaseTimeMs, () => this.#withdraw(hold.owner));
  }

  #withdraw(owner: OwnerId): Promise<Reply<unknown>> {
    return this.acquisition.protocol.cancel(this.key, owner, this.#request);
  }
}
