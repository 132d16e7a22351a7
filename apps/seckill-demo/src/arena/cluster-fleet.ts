import cluster from 'node:cluster';
import type { Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { Cable } from './cable.js';
import type { FreezeNote } from './caretaker.js';
import { ClusterMember } from './cluster-member.js';
import type { MemberListener } from './cluster-member.js';
import type { Fleet } from './fleet.js';
import { freePort } from './free-port.js';
import type { Note } from './note.js';
import type { FromWorker } from './worker-messages.js';

export interface FleetOptions {
  readonly size: number;
  readonly environment: Readonly<Record<string, string>>;
  /** The port to use if it is free; otherwise any port. */
  readonly preferredPort?: number | undefined;
  /** Gives each process its own connection to Redis, instead of the address in its environment. */
  readonly layCable?: (() => Promise<Cable>) | undefined;
  readonly onLine?: (line: string) => void;
  readonly onNotes?: (pid: number, notes: readonly Note[]) => void;
  readonly onProcess?: (pid: number, state: 'started' | 'ended') => void;
  /** Receives the fleet before its first process starts, so that it is stopped in every case. */
  readonly onFleet?: (fleet: ClusterFleet) => void;
  readonly onFrozen?: (note: FreezeNote) => void;
}

const WORKER = fileURLToPath(new URL('../worker.js', import.meta.url));
const STOP_LIMIT_MS = 4_000;
const PORT_ATTEMPTS = 5;

class PortTakenError extends Error {}

/** A fleet of node:cluster workers: the kernel sees one port, and the arena deals connections out. */
export class ClusterFleet implements Fleet {
  readonly #listeners = new Set<() => void>();
  #members: ClusterMember[] = [];
  #isStopping = false;

  /** Another program may take a free port between its choice and its use. Then the arena tries again. */
  static async start(options: FleetOptions): Promise<ClusterFleet> {
    for (let attempt = 1; ; attempt += 1) {
      const port = await freePort(attempt === 1 ? options.preferredPort : undefined);
      const fleet = new ClusterFleet(port, options);
      options.onFleet?.(fleet);
      try {
        await fleet.#fill({ SECKILL_PROCESSES: `${options.size}` });
        return fleet;
      } catch (error) {
        await fleet.stop();
        if (!(error instanceof PortTakenError) || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  private constructor(
    private readonly port: number,
    private readonly options: FleetOptions,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get members(): readonly ClusterMember[] {
    return this.#members;
  }

  onHeld(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Replaces each killed process with a new one. The sale has opened before. */
  refill(): Promise<void> {
    return this.#fill({});
  }

  /** From now on, the fleet replaces a process that dies, as a process manager does. */
  supervise(onReplaced: (pid: number) => void): void {
    cluster.on('exit', (worker) => {
      if (this.#isStopping || !this.#members.some(({ pid }) => pid === worker.process.pid)) return;
      onReplaced(worker.process.pid ?? 0);
      this.refill().catch(() => undefined);
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#members.map((member) => member.stop(STOP_LIMIT_MS)));
  }

  /** Synchronous, for the 'exit' event of the arena. */
  killNow(): void {
    for (const member of this.#members) void member.kill();
  }

  async #fill(extra: Readonly<Record<string, string>>): Promise<void> {
    this.#members = this.#members.filter((member) => member.isAlive);
    const missing = this.options.size - this.#members.length;
    await Promise.all(Array.from({ length: missing }, () => this.#fork(extra)));
  }

  async #fork(extra: Readonly<Record<string, string>>): Promise<void> {
    cluster.setupPrimary({ exec: WORKER, args: [] });
    const { environment, layCable } = this.options;
    const cable = await layCable?.();
    const worker = cluster.fork({
      ...environment,
      ...extra,
      ...(cable && { REDIS_URL: cable.url }),
      PORT: String(this.port),
    });
    const listener: MemberListener = {
      onHeld: () => {
        for (const listener of this.#listeners) listener();
      },
      onNotes: (notes) => this.options.onNotes?.(member.pid, notes),
      onLine: (line) => this.options.onLine?.(line),
      onFrozen: (note) => this.options.onFrozen?.(note),
    };
    const member: ClusterMember = new ClusterMember(worker, listener, cable);
    this.#members.push(member);
    worker.once('exit', () => this.options.onProcess?.(member.pid, 'ended'));
    await serving(worker);
    this.options.onProcess?.(member.pid, 'started');
  }
}

function serving(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('exit', (code, signal) => {
      reject(new Error(`a server process ended while starting (${signal || String(code)})`));
    });
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'serving') resolve();
      if (message.kind === 'failed') {
        reject(message.portTaken ? new PortTakenError() : new Error(message.message));
      }
    });
  });
}
