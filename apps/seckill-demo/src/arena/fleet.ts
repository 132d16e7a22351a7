import type { GatePoint } from '../seckill/gate.js';
import type { Struck } from './step.js';

/** One process that serves, and the strings by which the arena holds it. */
export interface Member {
  readonly pid: number;
  /** Resolves once the process will hold the next `count` orders that reach the point. */
  closeGate(point: GatePoint, count: number): Promise<void>;
  openGate(point: GatePoint): void;
  /** How many orders were held at the point since it was last closed. */
  held(point: GatePoint): number;
  kill(): Promise<void>;
  /** Stops the process as a whole, timers included: SIGSTOP. */
  freeze(): Promise<void>;
  thaw(): void;
}

/** Several processes behind one port. */
export interface Fleet {
  readonly url: string;
  readonly members: readonly Member[];
  /** Calls back at every order that is held anywhere, until the returned function is called. */
  onHeld(listener: () => void): () => void;
  /** Puts a new process in the place of each that was killed. */
  refill(): Promise<void>;
}

/** A step of a run takes less on any working machine, however slow. */
export const STEP_LIMIT_MS = 20_000;

/**
 * Waits until this number of orders stands at a point, in the given members together. False when
 * they do not come in time, or after an abort of the signal.
 */
export function ordersHeld(
  fleet: Fleet,
  point: GatePoint,
  count: number,
  { members = fleet.members, signal }: { members?: readonly Member[]; signal?: AbortSignal } = {},
): Promise<boolean> {
  const isReached = (): boolean =>
    members.reduce((sum, member) => sum + member.held(point), 0) >= count;
  if (isReached()) return Promise.resolve(true);
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      unlisten();
      resolve(isReached());
    };
    const timer = setTimeout(finish, STEP_LIMIT_MS);
    signal?.addEventListener('abort', finish, { once: true });
    const unlisten = fleet.onHeld(() => {
      if (isReached()) finish();
    });
  });
}

/**
 * The member stands still meanwhile, timers included. These gates are open when it wakes up: it goes
 * on where it stood, before any timer or answer could tell it anything.
 */
export async function whileFrozen<T>(
  member: Member,
  gates: readonly GatePoint[],
  onStruck: (what: Struck['what'], process: number) => void,
  happen: () => Promise<T>,
): Promise<T> {
  await member.freeze();
  onStruck('frozen', member.pid);
  try {
    return await happen();
  } finally {
    for (const gate of gates) member.openGate(gate);
    member.thaw();
    onStruck('thawed', member.pid);
  }
}
