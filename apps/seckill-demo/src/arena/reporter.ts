import { answered, epochOf } from './answered.js';
import type { ArenaRedis } from './arena-redis.js';
import type { Answer } from './buyer.js';
import type { Cell } from './cell.js';
import { KeyWatch } from './key-watch.js';
import type { Seen } from './key-watch.js';
import { lockedProduct } from './note.js';
import type { Note } from './note.js';
import type { Struck } from './step.js';
import type { Steps } from './steps.js';

/** In these cells the arena reads the lock itself; elsewhere these reads would slow the measurement. */
const WATCHED: ReadonlyArray<Cell['kind']> = ['duel', 'fault', 'part'];

/** Two holders may change within a few ms, and nothing is measured there. */
const LOOKS_AT_A_FAULT_EVERY_MS = 5;
/** In a sale that serves for days, the arena reads the lock for this time after its last event. */
const LINGERS_MS = 1_000;

/** Makes steps of the events of processes, buyers and the lock in Redis, for the cells in play. */
export class Reporter {
  /** A product belongs to one cell, so it identifies the orders. */
  readonly #cells: Map<string, string>;
  /** The time of the last event of an order or of its lock. */
  #heardAt = 0;

  constructor(
    private readonly steps: Steps,
    private readonly redis: Pick<ArenaRedis, 'client' | 'keyPrefix'>,
    cells: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#cells = new Map(cells);
  }

  newProduct({ id }: Cell): string {
    const productId = `${this.#cells.size + 1}`;
    this.#cells.set(productId, id);
    return productId;
  }

  /** The arena reads the lock of the cell's first product while it plays the cell. */
  async watching<T>(cell: Cell, play: () => Promise<T>): Promise<T> {
    const everyMs = cell.kind === 'fault' ? LOOKS_AT_A_FAULT_EVERY_MS : undefined;
    const lock = (): string | undefined => this.#lockOf(cell.id);
    const watch = WATCHED.includes(cell.kind)
      ? new KeyWatch(this.redis.client, lock, this.#seenIn(cell.id), everyMs)
      : undefined;
    try {
      return await play();
    } finally {
      await watch?.stop();
    }
  }

  /** In a cell without an end, the arena reads the lock while it is held, and while orders move. */
  readonly watch = (cell: string, signal: AbortSignal): void => {
    this.#heardAt = Date.now();
    let isHeld = false;
    const isBusy = (): boolean => isHeld || Date.now() - this.#heardAt < LINGERS_MS;
    const add = this.#seenIn(cell);
    const watch = new KeyWatch(
      this.redis.client,
      () => (isBusy() ? this.#lockOf(cell) : undefined),
      (seen) => {
        isHeld = seen.fields !== undefined;
        add(seen);
      },
    );
    signal.addEventListener('abort', () => void watch.stop());
  };

  of({ id: cell }: Cell): {
    readonly onAnswer: (buyer: string, answer: Answer, sentAt: number) => void;
    readonly onStruck: (what: Struck['what'], process?: number) => void;
  } {
    return {
      onAnswer: (buyer, answer, sentAt) => {
        this.steps.add(answered(cell, buyer, answer, sentAt), epochOf(answer));
      },
      onStruck: (what, process) => {
        this.steps.add({ kind: 'struck', cell, what, ...(process !== undefined && { process }) });
      },
    };
  }

  readonly onProcess = (process: number, state: 'started' | 'ended'): void => {
    this.steps.add({ kind: 'process', process, state });
  };

  readonly onNotes = (process: number, notes: readonly Note[]): void => {
    for (const note of notes) this.#add(process, note);
  };

  #add(process: number, note: Note): void {
    switch (note.kind) {
      case 'waiters': {
        const { at, kind, waiting } = note;
        this.steps.add({ kind, process, waiting }, at);
        break;
      }
      case 'lock': {
        // Lock events that come from timers belong to no order.
        const { at, productId = lockedProduct(note.name), ...rest } = note;
        const cell = this.#cells.get(productId ?? '');
        if (cell !== undefined) this.#heardAt = Date.now();
        this.steps.add({ ...rest, process, cell }, at);
        break;
      }
      case 'passed': {
        const { at, kind, productId, buyer, point } = note;
        const cell = this.#cells.get(productId);
        if (cell === undefined) break;
        this.#heardAt = Date.now();
        this.steps.add({ kind, cell, process, buyer, point }, at);
        break;
      }
      case 'stale-refused': {
        const cell = this.#cells.get(note.productId);
        this.steps.add({ kind: 'struck', cell, process, what: note.kind }, note.at);
        break;
      }
      case 'order':
        this.#moved(process, note);
        break;
      case 'reconciled':
        this.steps.add({ kind: note.kind, process, differences: note.differences }, note.at);
    }
  }

  /** The process that took an order from the queue answers its buyer. */
  #moved(process: number, note: Note & { readonly kind: 'order' }): void {
    const { at, kind, productId, buyer, state, payUntil, isAnswer, ageMs: tookMs } = note;
    const cell = this.#cells.get(productId);
    if (cell === undefined) return;
    this.steps.add({ kind, order: note.orderId, buyer, state, payUntil }, at);
    if (!isAnswer) return;
    const remaining = note.remaining ?? undefined;
    const answer = state === 'reserved' ? 'sold' : 'sold-out';
    this.steps.add({ kind: 'answered', cell, process, buyer, answer, remaining, tookMs }, at);
  }

  /** The lock of the cell's first product. */
  #lockOf(cell: string): string | undefined {
    const first = [...this.#cells].find(([, id]) => id === cell);
    return first && `${this.redis.keyPrefix}product_${first[0]}`;
  }

  #seenIn(cell: string): (seen: Seen) => void {
    return (seen) => {
      this.steps.add({ kind: 'key', cell, ...seen });
    };
  }
}
