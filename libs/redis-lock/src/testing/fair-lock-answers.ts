import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import {
  ACQUIRE,
  CANCEL,
  CANCEL_STRAYS,
  PASS,
  RELEASE,
} from '../primitives/fair-lock/fair-lock.scripts.js';
import { answer, answerPair, type Answer, type Call, type MaybeFenced } from './answers.js';
import { Value } from './in-process-server.js';
import { enter, HeldLock, isHeldBy, type Passing } from './lock-answers.js';

/**
 * The waiters of a fair lock in the order of arrival. For each process, the time until which it
 * counts as alive.
 */
export class FairQueue extends Value {
  readonly waiters = new Set<string>();
  readonly aliveUntil = new Map<string, number>();

  add(waiter: string, aliveUntil: number): void {
    this.waiters.add(waiter);
    this.aliveUntil.set(processOf(waiter), aliveUntil);
  }

  /** When the waiter counts as dead. */
  endOf(waiter: string): number {
    return this.aliveUntil.get(processOf(waiter)) ?? 0;
  }

  /** The next waiter; dead ones are removed. */
  head(now: number): string | undefined {
    for (const waiter of this.waiters) {
      if (this.endOf(waiter) > now) return waiter;
      this.waiters.delete(waiter);
    }
    return undefined;
  }
}

function processOf(owner: string): string {
  return owner.slice(0, owner.indexOf(':'));
}

/** After this time the first waiter checks again, without a message. */
const BEHIND_OTHERS_MS = 500;

type FairCall = Call<'lock' | 'queue' | 'owner' | 'channelPrefix'>;

function queueOf({ server, queue }: FairCall): FairQueue {
  return server.findOr(queue, FairQueue, () => new FairQueue());
}

function enterFairly(
  call: FairCall & MaybeFenced & Call<never, 'leaseMs' | 'waitMs' | 'aliveMs'>,
): AcquireAnswer {
  const { server, lock, owner, channelPrefix, numbers } = call;
  const held = server.find(lock, HeldLock);
  const queue = queueOf(call);
  const head = queue.head(server.now);
  const isFirst = head === undefined || head === owner;
  if (held === undefined && isFirst) queue.waiters.delete(owner);
  if (held === undefined ? isFirst : held.owner === owner) return enter(call, 1);
  if (numbers.waitMs > 0) queue.add(owner, server.now + numbers.aliveMs);
  // A lease that expires sends no message.
  if (held === undefined) server.publish(`${channelPrefix}:${head ?? owner}`, '0');
  const leftMs = held === undefined ? 0 : server.leftOf(held);
  return { kind: 'busy', remainingMs: Math.max(isFirst ? 1 : BEHIND_OTHERS_MS, leftMs) };
}

function tellHead(call: FairCall): void {
  const head = queueOf(call).head(call.server.now);
  if (head !== undefined) call.server.publish(`${call.channelPrefix}:${head}`, '0');
}

function leave(call: FairCall): ReleaseAnswer {
  call.server.delete(call.lock);
  tellHead(call);
  return 'done';
}

function passOn(call: FairCall & Passing): ReleaseAnswer {
  const { server, lock, owner, successor, numbers } = call;
  if (!isHeldBy(call, owner)) return isHeldBy(call, successor) ? 'had' : 'absent';
  const { waiters } = queueOf(call);
  const head = queueOf(call).head(server.now);
  if (head !== undefined && head !== successor) return leave(call);
  server.delete(lock);
  if (head === undefined) return 'yielded';
  waiters.delete(successor);
  server.put(lock, new HeldLock(successor, numbers.starts), numbers.leaseMs);
  return 'passed';
}

export const FAIR_LOCK_ANSWERS: readonly Answer[] = [
  ...answerPair(ACQUIRE, enterFairly),
  answer(RELEASE, 'release', (call) => (isHeldBy(call, call.owner) ? leave(call) : 'absent')),
  answer(PASS, 'release', passOn),
  answer(CANCEL, undefined, (call): ReleaseAnswer => {
    const { server, lock, owner } = call;
    const queue = queueOf(call);
    const wasNext = queue.head(server.now) === owner;
    queue.waiters.delete(owner);
    const held = server.peek(lock);
    if (held instanceof HeldLock && held.owner === owner) return leave(call);
    if (held === undefined && wasNext) tellHead(call);
    return 'done';
  }),
  // This server never loses data, so its queue has no strays.
  answer(CANCEL_STRAYS, undefined, (): ReleaseAnswer => 'done'),
];
