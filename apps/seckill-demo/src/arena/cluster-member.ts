import type { Worker } from 'node:cluster';
import type { GatePoint } from '../seckill/gate.js';
import type { Cable } from './cable.js';
import type { FreezeNote } from './caretaker.js';
import type { Member } from './fleet.js';
import type { Note } from './note.js';
import type { FromWorker, ToWorker } from './worker-messages.js';

export interface MemberListener {
  onHeld(): void;
  onNotes(notes: readonly Note[]): void;
  onLine(line: string): void;
  onFrozen(note: FreezeNote): void;
}

/** A blocked process does not report its holds. */
const FLUSH_LIMIT_MS = 100;

/** A node:cluster worker, as the arena sees it. */
export class ClusterMember implements Member {
  readonly pid: number;
  readonly #held = new Map<GatePoint, number>();
  readonly #closing = new Map<GatePoint, () => void>();
  readonly #exited: Promise<void>;
  #isFrozen = false;
  #isServing = false;
  #flushed: () => void = () => undefined;

  constructor(
    private readonly worker: Worker,
    private readonly listener: MemberListener,
    /** Its connection to Redis, if it can be cut. */
    readonly cable?: Cable,
  ) {
    if (worker.process.pid === undefined) throw new Error('the worker did not start');
    this.pid = worker.process.pid;
    this.#exited = new Promise((resolve) => {
      worker.once('exit', () => {
        cable?.close();
        resolve();
      });
    });
    worker.on('message', (message: FromWorker) => {
      this.#receive(message);
    });
  }

  get isAlive(): boolean {
    return !this.worker.isDead();
  }

  closeGate(point: GatePoint, count: number): Promise<void> {
    this.#held.set(point, 0);
    return new Promise((resolve) => {
      this.#closing.set(point, resolve);
      this.#send({ kind: 'close', point, count });
    });
  }

  openGate(point: GatePoint): void {
    this.#send({ kind: 'open', point });
  }

  held(point: GatePoint): number {
    return this.#held.get(point) ?? 0;
  }

  /** Blocks its event loop for this time. */
  block(ms: number): void {
    this.#send({ kind: 'block', ms });
  }

  kill(): Promise<void> {
    this.worker.process.kill('SIGKILL');
    return this.#exited;
  }

  /** A holder reports its locks before its process is frozen. */
  async freeze(): Promise<void> {
    this.#isFrozen = true;
    this.listener.onFrozen(`frozen ${this.pid}`);
    await this.#flush().then(() => {
      // It may be thawed, or ordered to end, by now.
      if (this.#isFrozen) this.worker.process.kill('SIGSTOP');
    });
  }

  thaw(): void {
    this.#isFrozen = false;
    this.worker.process.kill('SIGCONT');
    this.listener.onFrozen(`thawed ${this.pid}`);
  }

  /** Lets the application close, within the limit. */
  async stop(limitMs: number): Promise<void> {
    // A process that is just starting gets no messages yet.
    if (!this.#isServing) return this.isAlive ? this.kill() : undefined;
    if (this.#isFrozen) this.thaw();
    this.#send({ kind: 'stop' });
    const timer = setTimeout(() => void this.kill(), limitMs);
    await this.#exited;
    clearTimeout(timer);
  }

  async #flush(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.#flushed = resolve;
      timer = setTimeout(resolve, FLUSH_LIMIT_MS);
      this.#send({ kind: 'flush' });
    });
    clearTimeout(timer);
  }

  /** A member that dies closes its channel too. Its exit event handles that, not this code. */
  #send(message: ToWorker): void {
    if (this.worker.isConnected()) this.worker.send(message, () => undefined);
  }

  #receive(message: FromWorker): void {
    switch (message.kind) {
      case 'closed':
        this.#closing.get(message.point)?.();
        break;
      case 'held':
        this.#held.set(message.point, this.held(message.point) + 1);
        this.listener.onHeld();
        break;
      case 'noted':
        this.listener.onNotes(message.notes);
        break;
      case 'flushed':
        this.#flushed();
        break;
      case 'line':
        this.listener.onLine(message.line);
        break;
      case 'serving':
        this.#isServing = true;
        break;
      case 'failed':
        break;
    }
  }
}
