import type { CommandReply } from '../../../../libs/redis-lock/src/testing/server/commands/command.js';
import type { Step } from '../arena/step.js';
import { LOCK } from './server.js';

/** One piece of stock, sold twice. */
export interface Oversold {
  readonly at: number;
  /** The pieces are numbered from the last one down to 1. */
  readonly piece: number;
  /** The callers, by the order of their writes. */
  readonly callers: readonly [first: string, second: string];
  /** The one of them that wrote without the lock. Undefined: neither acquires one in Redis. */
  readonly late?: string | undefined;
  /** The caller that deleted its lock before. Undefined: its lease expired. */
  readonly thief?: string | undefined;
}

/** The sales and the grants, in the order in which Redis has run their commands. */
export class Books {
  /** The seller of each piece. */
  readonly #sellers = new Map<number, string>();
  /** By the order of the grants. */
  readonly #holders = new Set<string>();
  /** By the holder whose lock they have deleted. */
  readonly #thieves = new Map<string, string>();
  orders = 0;
  oversold: Oversold | undefined;

  constructor(
    private readonly now: () => number,
    public stock: number,
  ) {}

  /** Redis has run this command of a caller. */
  ran(caller: string, [command, key, ...args]: readonly string[], reply: CommandReply): void {
    if (command === 'set' && key === 'stock') this.#sold(caller, Number(args[0]));
    else if (command === 'hset' && args[0] === 'stock') this.#sold(caller, Number(args[1]));
    else if (command === 'set' && key === LOCK && reply !== null) this.granted(caller);
    else if (command === 'del' && key === LOCK && reply === 1) this.#deleted(caller);
  }

  /** The step of a broken run that broke it: a write, a deletion, or the death of the holder. */
  guiltyOf(steps: readonly Step[]): Step | undefined {
    const { oversold } = this;
    if (oversold === undefined) {
      const process = Number.parseInt(this.#holder ?? '', 10);
      return steps.find(
        (step) => step.kind === 'struck' && step.what === 'killed' && step.process === process,
      );
    }
    const { callers, late = callers[1], thief } = oversold;
    const point = thief === undefined ? 'before-write' : 'before-delete';
    return steps.find(
      (step) => step.kind === 'passed' && step.buyer === (thief ?? late) && step.point === point,
    );
  }

  /** The latest one. */
  get #holder(): string | undefined {
    return [...this.#holders].at(-1);
  }

  granted(caller: string): void {
    this.#holders.add(caller);
  }

  #deleted(caller: string): void {
    const holder = this.#holder;
    if (holder !== undefined && holder !== caller) this.#thieves.set(holder, caller);
  }

  #sold(caller: string, left: number): void {
    this.stock = left;
    this.orders += 1;
    const piece = left + 1;
    const first = this.#sellers.get(piece);
    this.#sellers.set(piece, first ?? caller);
    if (first === undefined || this.oversold !== undefined) return;
    const callers = [first, caller] as const;
    // Both have read the same stock. So the second grant came before the write of the first holder.
    const late = [...this.#holders].find((holder) => callers.includes(holder));
    const thief = this.#thieves.get(late ?? '');
    this.oversold = { at: this.now(), piece, callers, late, thief };
  }
}
