import { leaseOf, requestOf, type Acquisition, type Attempt } from './acquisition.js';
import type { Channels } from './contender.js';
import type { Contenders } from './contenders.js';
import type { OwnerId } from './hold-protocol.js';
import { Hold } from './hold.js';
import type { Reply } from './redis-connection.js';
import { waitInTurn, type Turn } from './wait-in-turn.js';

/** Acquires a lease for a new owner, in turn with the other callers of this process. */
export async function enterFirst(
  acquisition: Acquisition,
  contenders: Contenders,
): Promise<Attempt> {
  const { context, protocol, name, key, options } = acquisition;
  const owner = protocol.newOwner?.(options) ?? context.newOwner();
  const hold = new Hold(protocol, name, key, owner, context.clock);
  const turn = turnOf(acquisition, hold);

  const answer = await waitInTurn(acquisition, contenders, turn);
  if ('blockedBy' in answer) return answer;

  const { handed, fencingToken } = answer.value;
  hold.confirm(answer.sentAt, handed?.leaseTimeMs ?? options.leaseTimeMs);
  if (handed?.leaseTimeMs !== undefined) hold.owedLeaseMs = options.leaseTimeMs;
  if (hold.remainingMs > 0 && !hold.isSuspended()) {
    const use = context.keysInUse.begin(key);
    hold.endUse = () => {
      context.keysInUse.end(use);
    };
    hold.minReplicas = options.minReplicas;
    if (protocol.grantChannel !== undefined) contenders.holds(hold, handed?.passes ?? 0);
    return leaseOf(acquisition, hold, fencingToken, undefined);
  }
  // The answer took longer than the lease, or the machine stood still: what was granted may be over.
  void turn.giveUp();
  return 'again';
}

function turnOf(acquisition: Acquisition, hold: Hold): Turn {
  const { context, protocol, options } = acquisition;
  const { key, owner } = hold;
  const request = requestOf(acquisition, 1);
  const withdraw = (one: OwnerId) => protocol.withdraw(key, one, request);
  return {
    place: {
      key,
      line: protocol.waiting === 'in turn' ? key : owner,
      channels: () => channelsOf(acquisition, owner, withdraw),
    },
    candidate: { owner, starts: !options.fenced && options.minReplicas === 0 },
    leaseTimeMs: options.leaseTimeMs,
    leavesTrace: protocol.remembersWaiters,
    isLetIn: acquisition.companion !== undefined,
    ask: (claim) => hold.enter(request, claim),
    isNamedBy: (running) => {
      hold.occupy(running);
    },
    giveUp: () => context.keeper.abandon(hold, options.leaseTimeMs, () => withdraw(owner)),
  };
}

function channelsOf(
  { context, protocol, key, name }: Acquisition,
  owner: OwnerId,
  withdraw: (one: OwnerId) => Promise<Reply<unknown>>,
): Channels {
  const wakeUp = protocol.wakeUpChannel(key, owner);
  const grants = protocol.grantChannel?.(key);
  if (grants === undefined) return { wakeUp };
  const { claimTimeMs } = context.settings;
  const giveBack = (stray: OwnerId) =>
    context.keeper.insist(name, claimTimeMs, () => withdraw(stray));
  return { wakeUp, handOff: { grants, giveBack } };
}
