import type { AcquireAnswer, ReleaseAnswer } from '../core/holding/protocol.js';
import { ACQUIRE, RELEASE, PASS, CANCEL } from '../primitives/fair-lock/fair-lock.scripts.js';
import { answer, answerPair, type Answer, type Call, type TokenOf } from './answers.js';
import { Value, type InProcessServer } from './in-process-server.js';
import { enter, heldBy, HeldLock } from './lock-answers.js';

/**
 * The waiters of a fair lock in the order of arrival. For each process, the time until which it
 * counts as alive.
 */
class FairQueue extends Value {
  readonly waiters = new Set<string>();
  readonly aliveUntil = new Map<string, number>();

  add(waiter: string, aliveUntil: number): void {
    this.waiters.add(waiter);
    this.aliveUntil.set(processOf(waiter), aliveUntil);
  }

  /** The next waiter; dead ones are removed. */
  head(now: number): string | undefined {
    for (const waiter of this.waiters) {
      if ((this.aliveUntil.get(processOf(waiter)) ?? 0) > now) return waiter;
      this.waiters.delete(waiter);
    }
    return undefined;
  }
}

function processOf(owner: string): string {
  return owner.slice(0, owner.indexOf(':'));
}

interface FairKeys {
  readonly lock: string;
  readonly queue: string;
}

/** After this time the head asks again, also without a wake-up. */
const BEHIND_OTHERS_MS = 500;

function queueOf(server: InProcessServer, { queue }: FairKeys): FairQueue {
  return server.findOr(queue, FairQueue, () => new FairQueue());
}

function enterFairly(
  server: InProcessServer,
  keys: FairKeys,
  {
    texts: { owner, channelPrefix },
    numbers: { leaseMs, waitMs, aliveMs },
  }: Omit<Call<never, FairArgument>, 'keys'>,
  token?: TokenOf,
): AcquireAnswer {
  const { lock } = keys;
  const held = server.find(lock, HeldLock);
  const queue = queueOf(server, keys);
  const isOurs = held?.owner === owner;
  const head = queue.head(server.now);
  const isNext = held === undefined && (head === undefined || head === owner);
  if (isOurs || isNext) {
    if (isNext) queue.waiters.delete(owner);
    return enter(server, { lock, owner, holdCount: 1, leaseMs }, token);
  }
  if (waitMs > 0) queue.add(owner, server.now + aliveMs);
  // A lease that expires sends no wake-up.
  if (held === undefined) server.publish(`${channelPrefix}:${head ?? owner}`, '0');
  return { kind: 'busy', remainingMs: patienceOf(server, held, head, owner) };
}

type FairArgument = 'owner' | 'channelPrefix' | 'leaseMs' | 'waitMs' | 'aliveMs';

function patienceOf(
  server: InProcessServer,
  held: HeldLock | undefined,
  head: string | undefined,
  owner: string,
): number {
  const leftMs = held === undefined ? 0 : server.leftOf(held);
  const isFirst = head === undefined || head === owner;
  return Math.max(isFirst ? 1 : BEHIND_OTHERS_MS, leftMs);
}

function tellHead(server: InProcessServer, keys: FairKeys, channelPrefix: string): void {
  const head = queueOf(server, keys).head(server.now);
  if (head !== undefined) server.publish(`${channelPrefix}:${head}`, '0');
}

function passOn(
  server: InProcessServer,
  keys: FairKeys,
  {
    texts,
    numbers,
  }: Omit<Call<never, 'owner' | 'successor' | 'channelPrefix' | 'leaseMs' | 'starts'>, 'keys'>,
): ReleaseAnswer {
  const { owner, successor, channelPrefix } = texts;
  if (heldBy(server, keys.lock, owner) === undefined) {
    return heldBy(server, keys.lock, successor) === undefined ? 'absent' : 'had';
  }
  server.delete(keys.lock);
  const queue = queueOf(server, keys);
  const head = queue.head(server.now);
  if (head === undefined) return 'yielded';
  if (head !== successor) {
    tellHead(server, keys, channelPrefix);
    return 'done';
  }
  queue.waiters.delete(successor);
  server.put(keys.lock, new HeldLock(successor, numbers.starts), numbers.leaseMs);
  return 'passed';
}

export const FAIR_LOCK_ANSWERS: readonly Answer[] = [
  ...answerPair(ACQUIRE, (server, { keys, ...call }, token) =>
    enterFairly(server, keys, call, token),
  ),
  answer(RELEASE, 'release', (server, { keys, texts }) => {
    if (heldBy(server, keys.lock, texts.owner) === undefined) return 'absent';
    server.delete(keys.lock);
    tellHead(server, keys, texts.channelPrefix);
    return 'done';
  }),
  answer(PASS, 'release', (server, { keys, ...call }) => passOn(server, keys, call)),
  answer(CANCEL, undefined, (server, { keys, texts: { owner, channelPrefix } }): ReleaseAnswer => {
    const queue = queueOf(server, keys);
    const wasNext = queue.head(server.now) === owner;
    queue.waiters.delete(owner);
    const held = server.peek(keys.lock);
    const isOurs = held instanceof HeldLock && held.owner === owner;
    if (isOurs) server.delete(keys.lock);
    const isFree = server.peek(keys.lock) === undefined;
    if (isFree && (isOurs || wasNext)) tellHead(server, keys, channelPrefix);
    return 'done';
  }),
];
