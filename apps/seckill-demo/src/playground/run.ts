import type { LockEvent } from '../../../../libs/redis-lock/src/core/api/observer.js';
import { Random } from '../../../../libs/world/src/random.js';
import { World } from '../../../../libs/world/src/world.js';
import type { LockReported, Step, Struck } from '../arena/step.js';
import { Books } from './books.js';
import type { Oversold } from './books.js';
import type { Experiment, Fault } from './experiment.js';
import { Member } from './member.js';
import { Order } from './order.js';
import type { Desk } from './order.js';
import { PlaygroundServer } from './server.js';
import { turnOver } from './turn-over.js';

/** More than all orders can sell. */
const STOCK = 20;
const LONGEST_MS = 60_000;
const MOST_EVENTS = 200_000;

/** How a run ended. `stuck`: the key of the lock stays, and every later caller is refused. */
export type Verdict = 'safe' | 'oversold' | 'stuck';

/** A run from its first event to its last. */
export interface Run {
  readonly experiment: Experiment;
  /** In order of time; what the timeline draws. */
  readonly steps: readonly Step[];
  readonly verdict: Verdict;
  readonly oversold?: Oversold | undefined;
  /** The moment of the second sale, or of the death that leaves the lock. Undefined: safe. */
  readonly brokenAt?: number | undefined;
  /** Orders that have stored a sale, and the pieces that the stock has lost. */
  readonly orders: number;
  readonly pieces: number;
  /** The same for each run of this experiment, on each machine. */
  readonly hash: string;
}

/** Runs the experiment in virtual time. The event loop goes on meanwhile. */
export async function run(experiment: Experiment): Promise<Run> {
  return new Stage(experiment).play();
}

class Stage {
  readonly #world: World;
  readonly #server: PlaygroundServer;
  readonly #steps: Step[] = [];
  readonly #desk: Desk;
  readonly #members: readonly Member[];
  readonly #open = new Map<Member, number>();
  #failure: { readonly error: unknown } | undefined;

  constructor(private readonly experiment: Experiment) {
    const { seed, processes } = experiment;
    const world = (this.#world = new World(new Random(`playground ${seed}`), turnOver));
    const server = (this.#server = new PlaygroundServer(world));
    const books = new Books(() => world.now, STOCK);
    const add: Desk['add'] = (happening) => {
      this.#steps.push({ at: world.now, ...happening });
    };
    this.#desk = { books, add };
    server.command('set', ['stock', String(STOCK)]);
    server.command('hset', ['sale', 'stock', String(STOCK)]);
    server.onStock = (left) => {
      books.wrote(left);
    };
    server.onLock = (seen) => {
      add({ kind: 'key', cell: 'run', ...seen });
    };
    this.#members = Array.from({ length: processes }, (_, i) => {
      const observe = (event: LockEvent) => {
        const reported = reportOf(event);
        if (reported !== undefined) add({ ...reported, process: i + 1, cell: 'run' });
      };
      return new Member(world, server, i + 1, experiment, observe);
    });
  }

  async play(): Promise<Run> {
    for (const member of this.#members) this.#callersOf(member);
    for (const fault of this.experiment.faults) this.#plan(fault);
    const world = this.#world;
    await world.run(() => this.#isOver || world.now > LONGEST_MS || world.events > MOST_EVENTS);
    // A defect of the playground is no verdict.
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#result();
  }

  get #isOver(): boolean {
    if (this.#failure !== undefined) return true;
    return [...this.#open].every(([{ process }, open]) => process.isDead || open === 0);
  }

  #callersOf(member: Member): void {
    const { experiment } = this;
    const { callers, processes, workMs } = experiment;
    this.#open.set(member, callers);
    for (let i = 1; i <= callers; i += 1) {
      const buyer = `${member.number}.${i}`;
      const random = this.#world.random.fork(buyer);
      const order = new Order(member, buyer, experiment, random, this.#desk);
      const arrivesAt = 5 + random.next() * workMs * callers * processes * 0.7;
      this.#world.at(
        arrivesAt,
        () => {
          const ended = () => {
            this.#open.set(member, (this.#open.get(member) ?? 0) - 1);
          };
          order.run().then(ended, (error: unknown) => {
            this.#failure ??= { error };
          });
        },
        member.process,
      );
    }
  }

  #plan({ kind, process: number, at, ms }: Fault): void {
    const member = this.#members[number - 1];
    if (member === undefined) return;
    const { process } = member;
    const struck = (what: Struck['what']) => {
      this.#desk.add({ kind: 'struck', cell: 'run', process: number, what });
    };
    this.#world.at(at, () => {
      if (process.isDead) return;
      if (kind === 'kill') {
        struck('killed');
        process.kill();
        return;
      }
      struck('frozen');
      process.stall(ms);
      this.#world.after(ms, () => {
        if (!process.isStill) struck('thawed');
      });
    });
  }

  #result(): Run {
    const { experiment } = this;
    const { books } = this.#desk;
    const { oversold, orders } = books;
    const steps = withExpiries(this.#steps);
    const isStuck = !this.#isOver || this.#server.isLockedForGood;
    const verdict = oversold !== undefined ? 'oversold' : isStuck ? 'stuck' : 'safe';
    const pieces = STOCK - books.stock;
    const hash = new Random(JSON.stringify(steps)).fork('hash').next().toString(16).slice(2, 10);
    const death = steps.findLast((step) => step.kind === 'struck' && step.what === 'killed');
    const brokenAt = oversold?.at ?? (isStuck ? death?.at : undefined);
    return { experiment, steps, verdict, oversold, brokenAt, orders, pieces, hash };
  }
}

/** The events of the library that the timeline draws. */
function reportOf(event: LockEvent): Omit<LockReported, 'process'> | undefined {
  switch (event.type) {
    case 'renewed':
    case 'renewal-failed':
    case 'suspect':
    case 'recovered':
      return { kind: 'lock', event: event.type };
    case 'lost':
      return { kind: 'lock', event: 'lost', reason: event.reason };
    default:
      return undefined;
  }
}

/** Redis expires a key without a sign. */
function withExpiries(steps: readonly Step[]): Step[] {
  const keys = steps.filter((step) => step.kind === 'key');
  const expiries = keys.flatMap((key, index): Step | [] => {
    if (key.ttlMs === undefined) return [];
    const at = key.at + key.ttlMs;
    const next = keys[index + 1]?.at ?? steps.at(-1)?.at ?? 0;
    return next > at ? { kind: 'struck', cell: 'run', what: 'lease-ended', at } : [];
  });
  return [...steps, ...expiries].sort((a, b) => a.at - b.at);
}
