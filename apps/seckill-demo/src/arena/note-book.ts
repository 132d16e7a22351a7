import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import type { LockEvent, LockEventMessage, LockSubject } from 'nestjs-redis-lock';
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

  readonly #stops: (() => void)[] = [];

  constructor(private readonly send: (notes: readonly Note[]) => void) {
    this.#listen('nestjs-redis-lock:event', (event: LockEventMessage) => {
      this.#heard(event);
    });
    this.#listen(orderMoved.name, (notice: OrderNotice) => {
      this.#add({ kind: 'order', ...notice });
      // A killed process sends nothing more, and its buyers wait for this.
      this.flush();
    });
    this.#listen(reconciled.name, (notice: ReconciledNotice) => {
      this.#add({ kind: 'reconciled', ...notice });
    });
    this.#listen(staleRefused.name, (notice: StaleNotice) => {
      this.#add({ kind: 'stale-refused', ...notice });
    });
    const count = (change: 1 | -1) => (call: LockSubject) => {
      if (lockedProduct(call.name) !== undefined) this.#waiting += change;
    };
    this.#listen('tracing:nestjs-redis-lock:acquire:start', count(1));
    this.#listen('tracing:nestjs-redis-lock:acquire:asyncEnd', count(-1));
    const looking = setInterval(() => {
      this.#look();
    }, LOOKS_EVERY_MS).unref();
    this.#stops.push(() => {
      clearInterval(looking);
    });
  }

  stop(): void {
    for (const stop of this.#stops) stop();
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

  #listen(channel: string | symbol, hear: (message: never) => void): void {
    const listener = (message: unknown) => {
      hear(message as never);
    };
    subscribe(channel, listener);
    this.#stops.push(() => {
      unsubscribe(channel, listener);
    });
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
