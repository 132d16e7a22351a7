import { leaseOf, requestOf, type Acquisition, type Attempt } from './acquisition.js';
import type { Contenders } from './contenders.js';
import { Hold } from './hold.js';
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

  hold.confirm(answer.sentAt, options.leaseTimeMs);
  if (hold.remainingMs > 0 && !hold.isSuspended()) {
    hold.minReplicas = options.minReplicas;
    return leaseOf(acquisition, hold, answer.value.fencingToken, undefined);
  }
  // The answer took longer than the lease, or the machine stood still: what was granted may be over.
  void turn.giveUp();
  return 'again';
}

function turnOf(acquisition: Acquisition, hold: Hold): Turn {
  const { context, protocol, options } = acquisition;
  const { key, owner } = hold;
  const request = requestOf(acquisition, 1);
  return {
    place: {
      line: protocol.waiting === 'in turn' ? key : owner,
      channel: protocol.wakeUpChannel(key, owner),
    },
    leaseTimeMs: options.leaseTimeMs,
    leavesTrace: protocol.remembersWaiters,
    ask: () => hold.enter(request),
    giveUp: () =>
      context.keeper.abandon(hold, options.leaseTimeMs, () =>
        protocol.withdraw(key, owner, request),
      ),
  };
}
