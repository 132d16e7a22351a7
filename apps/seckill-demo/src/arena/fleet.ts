import type { GatePoint } from '../seckill/gate.js';
import type { Struck } from './step.js';

/** One process that serves, and the means of the arena to control it. */
export interface Member {
  readonly pid: number;
  /** Resolves when the process will hold the next `count` orders that reach the point. */
  closeGate(point: GatePoint, count: number): Promise<void>;
  openGate(point: GatePoint): void;
  /** The number of orders held at the point since its gate was last closed. */
  held(point: GatePoint): number;
  kill(): Promise<void>;
  /** Stops the whole process, including its timers: SIGSTOP. */
  freeze(): Promise<void>;
  thaw(): void;
}

/** Several processes behind one port. */
export interface Fleet {
  readonly url: string;
  readonly members: readonly Member[];
  /** Calls back for every order that any process holds, until you call the returned function. */
  onHeld(listener: () => void): () => void;
  /** Replaces each killed process with a new one. */
  refill(): Promise<void>;
}

/** A step of a run takes less time on any working machine, even a slow one. */
export const STEP_LIMIT_MS = 20_000;

/**
 * Waits until this number of orders has stopped at a point, in the given members together. Resolves
 * with false if they do not arrive in time, or after an abort.
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
 * The member is frozen meanwhile, including its timers. These gates are open when it wakes up. It
 * continues before any timer or answer runs.
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
    // The process may report a lost lease at once.
    onStruck('thawed', member.pid);
    member.thaw();
  }
}
