import { subscribe } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import type { LockEvent, LockEventMessage } from 'nestjs-redis-lock';
import { orderMoved, reconciled, staleRefused } from '../orders/order-notice.js';
import type { OrderNotice, ReconciledNotice, StaleNotice } from '../orders/order-notice.js';
import { currentOrder } from '../seckill/gate.js';
import type { GatePoint } from '../seckill/gate.js';
import { lockedProduct } from './note.js';
import type { Note } from './note.js';
import type { LockReported } from './step.js';

const SENT_EVERY_MS = 20;
const LOOKS_EVERY_MS = 100;
const WATCHED = new Set<string>([
  ...['acquired', 'waiting', 'timed-out', 'released'],
  ...['renewed', 'renewal-failed', 'suspect', 'recovered', 'lost'],
]);

type Unstamped = Note extends infer One ? (One extends Note ? Omit<One, 'at'> : never) : never;

/** Collects the events of this process, and sends them in batches. Single messages slow the sale down. */
export class NoteBook {
  #notes: Note[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The calls that wait for the lock of a product. Permits and other locks do not count. */
  #waiting = 0;
  #toldWaiting = 0;

  constructor(private readonly send: (notes: readonly Note[]) => void) {
    subscribe('nestjs-redis-lock:event', (message) => {
      this.#heard(message as LockEventMessage);
    });
    subscribe(orderMoved.name, (message) => {
      this.#add({ kind: 'order', ...(message as OrderNotice) });
      // A killed process sends nothing more, and its buyers wait for this.
      this.flush();
    });
    subscribe(reconciled.name, (message) => {
      this.#add({ kind: 'reconciled', ...(message as ReconciledNotice) });
    });
    subscribe(staleRefused.name, (message) => {
      this.#add({ kind: 'stale-refused', ...(message as StaleNotice) });
    });
    const count = (change: 1 | -1) => (message: unknown) => {
      if (lockedProduct((message as { name: string }).name) !== undefined) this.#waiting += change;
    };
    subscribe('tracing:nestjs-redis-lock:acquire:start', count(1));
    subscribe('tracing:nestjs-redis-lock:acquire:asyncEnd', count(-1));
    setInterval(() => {
      this.#look();
    }, LOOKS_EVERY_MS).unref();
  }

  passed(point: GatePoint): void {
    const order = currentOrder.getStore();
    if (order !== undefined) this.#add({ kind: 'passed', point, ...order });
  }

  /** Call this before a process is frozen: it can send nothing meanwhile. */
  tellAll(): void {
    this.#look();
    this.flush();
  }

  /** Before the arena holds a process, it needs all earlier events. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = this.#notes;
    this.#notes = [];
    if (notes.length > 0) this.send(notes);
  }

  #look(): void {
    const waiting = this.#waiting;
    if (waiting !== this.#toldWaiting) this.#add({ kind: 'waiters', waiting });
    this.#toldWaiting = waiting;
  }

  #heard(event: LockEvent): void {
    if (!WATCHED.has(event.type)) return;
    this.#add({
      kind: 'lock',
      event: event.type as LockReported['event'],
      ...('name' in event && { name: event.name }),
      ...(event.type === 'lost' && { reason: event.reason }),
      ...currentOrder.getStore(),
    });
  }

  #add(note: Unstamped): void {
    this.#notes.push({ at: performance.timeOrigin + performance.now(), ...note });
    this.#timer ??= setTimeout(() => {
      this.flush();
    }, SENT_EVERY_MS);
  }
}
