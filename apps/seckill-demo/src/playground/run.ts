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
/** No run has so many. */
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
  /**
   * The step that broke the run. It is a write without the lock, the deletion of another caller's
   * lock, or the death of the holder. Undefined: safe.
   */
  readonly guilty?: Step | undefined;
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
    server.onCommand = (caller, words, reply) => {
      books.ran(caller, words, reply);
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
    for (const member of this.#members) this.#awaitCallers(member);
    for (const fault of this.experiment.faults) this.#plan(fault);
    const world = this.#world;
    await world.run(() => this.#isOver || world.events > MOST_EVENTS);
    // A defect of the playground is no verdict.
    if (this.#failure !== undefined) throw this.#failure.error;
    if (!this.#isOver) throw new Error('the run does not end');
    return this.#result();
  }

  get #isOver(): boolean {
    if (this.#failure !== undefined) return true;
    return [...this.#open.values()].every((open) => open === 0);
  }

  /** A process accepts no callers before it is connected. */
  #awaitCallers(member: Member): void {
    const { callers, processes, workMs } = this.experiment;
    const world = this.#world;
    this.#open.set(member, callers);
    member.connection.onUp(() => {
      for (let i = 1; i <= callers; i += 1) {
        const buyer = `${member.number}.${i}`;
        const random = world.random.fork(buyer);
        const arrivesIn = random.next() * workMs * callers * processes * 0.7;
        const order = new Order(member, buyer, this.experiment, random, this.#desk);
        world.after(arrivesIn, () => void this.#serve(order, member), member.process);
      }
    });
  }

  async #serve(order: Order, member: Member): Promise<void> {
    try {
      await order.run();
      this.#open.set(member, (this.#open.get(member) ?? 0) - 1);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  #plan({ kind, process, at, ms }: Fault): void {
    const member = this.#members[process - 1];
    if (member === undefined) return;
    this.#world.at(at, () => {
      if (member.process.isDead) return;
      if (kind === 'kill') this.#kill(member);
      else this.#freeze(member, ms);
    });
  }

  #kill(member: Member): void {
    this.#struck(member, 'killed');
    member.process.kill();
    // Until Redis notices the death, the last requests may still arrive.
    member.connection.links[0]?.onForgotten(() => this.#open.delete(member));
  }

  #freeze(member: Member, ms: number): void {
    const { process } = member;
    const thaw = () => {
      this.#struck(member, 'thawed');
    };
    const wasStill = process.isStill;
    this.#struck(member, 'frozen');
    process.stall(ms);
    // Due now, so that it comes before all else that the freeze puts off.
    if (!wasStill) this.#world.after(0, thaw, process);
  }

  #struck({ number }: Member, what: Struck['what']): void {
    this.#desk.add({ kind: 'struck', cell: 'run', process: number, what });
  }

  #result(): Run {
    const { experiment } = this;
    const { books } = this.#desk;
    const { oversold, orders, stock } = books;
    const steps = withExpiries(this.#steps);
    const isStuck = this.#server.isLockedForGood;
    const verdict = oversold !== undefined ? 'oversold' : isStuck ? 'stuck' : 'safe';
    const pieces = STOCK - stock;
    const hash = new Random(JSON.stringify(steps)).fork('hash').next().toString(16).slice(2, 10);
    const guilty = verdict === 'safe' ? undefined : books.guiltyOf(steps);
    return { experiment, steps, verdict, oversold, guilty, orders, pieces, hash };
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
