import { subscribe } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import type { LockEvent, LockEventMessage, LockMonitor } from 'nestjs-redis-lock';
import { orderMoved, reconciled } from '../orders/order-notice.js';
import type { OrderNotice, ReconciledNotice } from '../orders/order-notice.js';
import { currentOrder } from '../seckill/gate.js';
import type { GatePoint } from '../seckill/gate.js';
import type { Note } from './note.js';
import type { LockReported } from './step.js';

const SENT_EVERY_MS = 20;
const LOOKS_EVERY_MS = 100;
const WATCHED = new Set<string>([
  ...['acquired', 'waiting', 'timed-out', 'released'],
  ...['renewed', 'renewal-failed', 'suspect', 'recovered', 'lost'],
]);

type Unstamped = Note extends infer One ? (One extends Note ? Omit<One, 'at'> : never) : never;

/** Collects what this process sees, and sends it in batches: a message for each would slow the sale. */
export class NoteBook {
  #notes: Note[] = [];
  #timer: NodeJS.Timeout | undefined;
  #look: () => void = () => undefined;

  constructor(private readonly send: (notes: readonly Note[]) => void) {
    subscribe('nestjs-redis-lock:event', (message) => {
      this.#heard(message as LockEventMessage);
    });
    subscribe(orderMoved.name, (message) => {
      this.#add({ kind: 'order', ...(message as OrderNotice) });
      // A process that is killed tells nothing more, and its buyers wait for this.
      this.flush();
    });
    subscribe(reconciled.name, (message) => {
      this.#add({ kind: 'reconciled', ...(message as ReconciledNotice) });
    });
  }

  passed(point: GatePoint): void {
    const order = currentOrder.getStore();
    if (order !== undefined) this.#add({ kind: 'passed', point, ...order });
  }

  /** Notes how many wait and hold here, when that has changed. */
  watch(monitor: LockMonitor): void {
    let last = '0 0';
    this.#look = () => {
      const { waiting, held } = monitor.status();
      const now = `${waiting} ${held}`;
      if (now !== last) this.#add({ kind: 'waiters', waiting, held });
      last = now;
    };
    setInterval(this.#look, LOOKS_EVERY_MS).unref();
  }

  /** Before a process stands still: it can tell nothing meanwhile. */
  tellAll(): void {
    this.#look();
    this.flush();
  }

  /** Before a process is held, the arena has to know all that went before. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const notes = this.#notes;
    this.#notes = [];
    if (notes.length > 0) this.send(notes);
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
