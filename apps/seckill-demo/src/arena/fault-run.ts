import { performance } from 'node:perf_hooks';
import { setTimeout as elapse } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { GatePoint } from '../seckill/gate.js';
import type { StrategyName } from '../strategies/strategy.js';
import { Buyer, openSale, stateOf } from './buyer.js';
import type { Answer } from './buyer.js';
import { judge } from './fault-judgement.js';
import type { FaultName, FaultOutcome } from './fault.js';
import { ordersHeld, whileFrozen } from './fleet.js';
import { isStaleWrite } from './load-result.js';
import type { Struck } from './step.js';
import type { Fleet, Member } from './fleet.js';

/** A holder stops at one of these points. */
const HOLDING: readonly GatePoint[] = ['before-write', 'before-delete'];

export interface FaultPlan {
  readonly fleet: Fleet;
  /** The arena's own connection. It reads the lock key and ends fixed leases. */
  readonly redis: Redis;
  readonly lockKey: string;
  readonly strategy: StrategyName;
  readonly productId: string;
  /** The lease time of renewed locks in this fleet. */
  readonly leaseTimeMs: number;
  /** Receives each answer. */
  readonly onAnswer: (buyer: string, answer: Answer, sentAt: number) => void;
  /** Receives each event of a process or of the lock. */
  readonly onStruck: (what: Struck['what'], process?: number) => void;
}

/** Two buyers in two processes: `first` holds the lock during the fault, `next` comes afterwards. */
interface Scene extends FaultPlan {
  readonly firstMember: Member;
  readonly nextMember: Member;
  readonly stock: number;
  /** The order that waits at the gate. */
  readonly first: Promise<Answer>;
  readonly orderNext: () => Promise<Answer>;
}

/** Two have no lock in Redis; the third has the lock of `redis-lock`. The rush shows their flaws. */
const UNHURT: readonly StrategyName[] = ['naive', 'in-process', 'lock-in-tx'];

/** The arena cannot end these holds early: a renewed lease, or the lock of a row. */
const LASTING: readonly StrategyName[] = [
  ...(['redis-lock', 'fair', 'fenced', 'redlock', 'redis-semaphore'] as const),
  'sql-update',
];

const PLENTY = 10;
const LONGER_THAN_THE_LEASE = 1.5;

export async function strike(fault: FaultName, plan: FaultPlan): Promise<FaultOutcome> {
  if (UNHURT.includes(plan.strategy)) return 'none';
  await plan.fleet.refill();
  switch (fault) {
    case 'killed-in-section':
      return withHolderAt('before-write', 1, plan, killed);
    case 'killed-before-expire':
      return withHolderAt('lock-set', 1, plan, killed);
    case 'slow-work':
      return withHolderAt('before-write', 1, plan, outlived);
    case 'lease-ends-before-del':
      return withHolderAt('before-delete', PLENTY, plan, outlived);
    case 'frozen':
      return withHolderAt('before-write', PLENTY, plan, frozen);
  }
}

async function withHolderAt(
  point: GatePoint,
  stock: number,
  plan: FaultPlan,
  happen: (scene: Scene) => Promise<FaultOutcome>,
): Promise<FaultOutcome> {
  const { fleet, productId, strategy } = plan;
  const [firstMember, nextMember] = fleet.members;
  if (firstMember === undefined || nextMember === undefined) return 'error';
  await openSale(fleet.url, productId, stock);
  const [first, next] = [
    await Buyer.at(fleet.url, firstMember.pid),
    await Buyer.at(fleet.url, nextMember.pid),
  ];
  try {
    await firstMember.closeGate(point, 1);
    const order = async (buyer: Buyer, name: string): Promise<Answer> => {
      const sentAt = performance.now();
      const answer = await buyer.order(productId, strategy, name);
      plan.onAnswer(name, answer, sentAt);
      return answer;
    };
    const answer = order(first, 'first');
    if (!(await ordersHeld(fleet, point, 1, { members: [firstMember] }))) return 'error';
    const orderNext = (): Promise<Answer> => order(next, 'next');
    return await happen({ ...plan, firstMember, nextMember, stock, first: answer, orderNext });
  } finally {
    first.leave();
    next.leave();
  }
}

async function killed(scene: Scene): Promise<FaultOutcome> {
  await scene.firstMember.kill();
  scene.onStruck('killed', scene.firstMember.pid);
  await scene.first;
  await endFixedLease(scene);
  const next = await scene.orderNext();
  const state = await stateOf(scene.fleet.url, scene.productId);
  return judge({ stock: scene.stock, next, state });
}

/** The holder continues after its lease, while the next holder is inside, if it can get in. */
async function outlived(scene: Scene): Promise<FaultOutcome> {
  const { fleet, redis, lockKey, nextMember } = scene;
  await nextMember.closeGate('before-write', 1);
  const pending = await orderNextAfterTheLease(scene);
  const isNextInside = nextMember.held('before-write') > 0 && (await redis.exists(lockKey)) === 1;
  openGates(scene.firstMember);
  const first = await scene.first;
  const foreignDelete = isNextInside && (await redis.exists(lockKey)) === 0;
  if (foreignDelete) scene.onStruck('foreign-delete', scene.firstMember.pid);
  openGates(nextMember);
  const next = await pending.answer;
  const state = await stateOf(fleet.url, scene.productId);
  return judge({ stock: scene.stock, first, next, state, foreignDelete });
}

/** The holder is frozen until the next buyer has bought. */
async function frozen(scene: Scene): Promise<FaultOutcome> {
  const { firstMember, onStruck } = scene;
  const next = await whileFrozen(firstMember, HOLDING, onStruck, async () => {
    await endFixedLease(scene);
    return scene.orderNext();
  });
  const first = await scene.first;
  if (isStaleWrite(first)) onStruck('stale-refused', firstMember.pid);
  const state = await stateOf(scene.fleet.url, scene.productId);
  return judge({ stock: scene.stock, first, next, state });
}

/** Resolves when the next order is inside, has an answer, or has waited longer than the lease. */
async function orderNextAfterTheLease(scene: Scene): Promise<{ answer: Promise<Answer> }> {
  if (LASTING.includes(scene.strategy)) {
    // Here time must really pass.
    const answer = scene.orderNext();
    await elapse(scene.leaseTimeMs * LONGER_THAN_THE_LEASE);
    return { answer };
  }
  await endFixedLease(scene);
  const answer = scene.orderNext();
  const answered = new AbortController();
  void answer.then(() => {
    answered.abort();
  });
  await ordersHeld(scene.fleet, 'before-write', 1, {
    members: [scene.nextMember],
    signal: answered.signal,
  });
  return { answer };
}

/**
 * Ends a lease that nothing renews. A key without a lease stays. A renewed lease is not changed: it
 * expires by itself when its holder is dead or frozen.
 */
async function endFixedLease({ redis, lockKey, strategy, onStruck }: Scene): Promise<void> {
  if (LASTING.includes(strategy) || (await redis.pttl(lockKey)) <= 0) return;
  await redis.pexpire(lockKey, 0);
  onStruck('lease-ended');
}

function openGates(member: Member): void {
  for (const gate of HOLDING) member.openGate(gate);
}
