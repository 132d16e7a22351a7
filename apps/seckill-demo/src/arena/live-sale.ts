import { setMaxListeners } from 'node:events';
import { setTimeout as elapse } from 'node:timers/promises';
import type { Options } from '../options/parse.mjs';
import { FIRST_PRODUCT } from '../settings.js';
import { fleetEnvironment } from './arena.js';
import type { ArenaServers } from './arena-servers.js';
import { openSale, stateOf } from './buyer.js';
import type { Answer } from './buyer.js';
import { LIVE } from './cell.js';
import { ClusterFleet } from './cluster-fleet.js';
import type { FleetOptions } from './cluster-fleet.js';
import type { ClusterMember } from './cluster-member.js';
import { Customers } from './customers.js';
import { ledgerDifference } from './load-result.js';
import { FAULT_MS, ProcessFaults } from './process-faults.js';
import { RefusedError } from './refused-error.js';
import { Reporter } from './reporter.js';
import type { BooksSeen, Command, SaleOpened, Struck } from './step.js';
import type { Steps } from './steps.js';

const LOOKS_EVERY_MS = 250;
/** A process may die without an answer. */
const LOOK_LIMIT_MS = 2_000;
/** So many buyers wait while the holder is struck. */
const HEIRS = 8;
/** The lock of a dead process expires after this time. The 30 s of a real shop are long to watch. */
const LEASE_MS = 6_000;

type Care = Pick<FleetOptions, 'onFleet' | 'onFrozen'> & {
  readonly onReplaced: (pid: number) => void;
};

/** The shop that serves, and the commands of a visitor. */
export class LiveSale {
  readonly #stopped = new AbortController();
  readonly #customers: Customers;
  readonly #faults: ProcessFaults;
  #isOperating = false;
  /** The orders that waited for their turn when the books were last read. */
  #queued = 0;

  /** Starts the processes, sets the stock, and reports the books from then on. */
  static async start(
    { instances, port, logLevel }: Pick<Options, 'instances' | 'port' | 'logLevel'>,
    redis: ArenaServers,
    steps: Steps,
    { onReplaced, ...care }: Care,
  ): Promise<LiveSale> {
    const { operator } = redis;
    const cells = new Map([[FIRST_PRODUCT.id, LIVE]]);
    const { onNotes, onProcess, watch } = new Reporter(steps, redis, cells);
    const fleet = await ClusterFleet.start({
      size: instances,
      environment: {
        ...fleetEnvironment(redis, logLevel),
        SECKILL_REAL_SALE: '1',
        SECKILL_LEASE_MS: `${LEASE_MS}`,
      },
      preferredPort: port,
      layCable: operator && (() => operator.layCable()),
      ...{ onNotes, onProcess, ...care },
    });
    fleet.supervise(onReplaced);
    const sale = new LiveSale(fleet, redis, steps);
    await sale.#open(FIRST_PRODUCT.stock);
    void sale.#watchBooks();
    void sale.#customers.letRobotsPay();
    watch(LIVE, sale.#stopped.signal);
    return sale;
  }

  private constructor(
    private readonly fleet: ClusterFleet,
    private readonly redis: ArenaServers,
    private readonly steps: Steps,
  ) {
    const { signal } = this.#stopped;
    // Each robot that tries again listens, too.
    setMaxListeners(0, signal);
    this.#customers = new Customers(fleet.url, FIRST_PRODUCT.id, steps, signal);
    this.#faults = new ProcessFaults(
      fleet,
      (what, member) => {
        this.#struck(what, member);
      },
      signal,
    );
  }

  get url(): string {
    return this.fleet.url;
  }

  get pids(): readonly number[] {
    return this.fleet.members.map(({ pid }) => pid);
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves with the text for the page. A fault has begun by then, and ends by itself. */
  async carryOut(command: Command): Promise<object> {
    const reason = this.#forbidden()[command.kind];
    if (reason !== undefined) throw new RefusedError(reason, `refused: ${reason}`);
    switch (command.kind) {
      case 'kill':
      case 'freeze':
      case 'cut':
      case 'block':
        await this.#faults.strike(command.kind, command.process);
        return {};
      case 'kill-holder':
      case 'freeze-holder':
        await this.#alone(() => this.#strikeHolder(command.kind));
        return {};
      case 'redis-pause':
      case 'redis-restart':
      case 'redis-fail-over':
        await this.#alone(() => this.#operate(command.kind));
        return {};
      case 'buy':
        return shown(await this.#customers.order(command.buyer));
      case 'pay':
        return shown(await this.#customers.pay(command.buyer));
      case 'robots':
        void this.#customers.callRobots(command.count);
        return {};
      case 'restock':
        await this.#restock(command.stock);
        return {};
      case 'skip':
        return {};
    }
  }

  /** One command at a time: two visitors cannot both replace the one server. */
  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isOperating)
      throw new RefusedError('running', 'another command is running; try again later');
    this.#isOperating = true;
    try {
      await work();
    } finally {
      this.#isOperating = false;
    }
  }

  #strikeHolder(command: 'kill-holder' | 'freeze-holder'): Promise<void> {
    return this.#faults.strikeHolder(command === 'kill-holder' ? 'kill' : 'freeze', () => {
      if (this.#queued < HEIRS) void this.#customers.callRobots(HEIRS);
    });
  }

  async #operate(what: 'redis-pause' | 'redis-restart' | 'redis-fail-over'): Promise<void> {
    const { operator } = this.redis;
    switch (what) {
      case 'redis-pause':
        this.#struck('redis-paused');
        await operator?.pause(FAULT_MS);
        this.#struck('redis-resumed');
        break;
      case 'redis-restart':
        await operator?.restart();
        this.#struck('redis-restarted');
        break;
      case 'redis-fail-over':
        await operator?.failOver();
        this.#struck('redis-failed-over');
        break;
    }
  }

  async #restock(stock: number): Promise<void> {
    try {
      await this.#open(stock);
    } catch (error) {
      // The lock of the product may be held by a process that is frozen, or dead.
      throw new RefusedError(
        'stock-locked',
        error instanceof Error ? error.message : String(error),
      );
    }
  }

  /** The shop forgets the orders of an earlier sale. */
  async #open(stock: number): Promise<void> {
    const { url } = this.fleet;
    const product = FIRST_PRODUCT.id;
    await openSale(url, product, stock);
    const forbidden = this.#forbidden();
    this.steps.add({ kind: 'sale-opened', url, product, stock, forbidden });
  }

  async #watchBooks(): Promise<void> {
    const { signal } = this.#stopped;
    let last = '';
    while (!signal.aborted) {
      const books = await this.#books().catch(() => undefined);
      if (books !== undefined && JSON.stringify(books) !== last) {
        last = JSON.stringify(books);
        this.steps.add(books);
      }
      await elapse(LOOKS_EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #books(): Promise<BooksSeen> {
    const state = await stateOf(this.fleet.url, FIRST_PRODUCT.id, LOOK_LIMIT_MS);
    const { id: product, ...counts } = state;
    this.#queued = counts.states.queued ?? 0;
    return { kind: 'books', product, ...counts, difference: ledgerDifference(state) };
  }

  #struck(what: Struck['what'], member?: ClusterMember): void {
    this.steps.add({ kind: 'struck', cell: LIVE, what, ...(member && { process: member.pid }) });
  }

  #forbidden(): SaleOpened['forbidden'] {
    return {
      ...(this.redis.operator === undefined && {
        'redis-pause': 'foreign-redis',
        'redis-restart': 'foreign-redis',
        'redis-fail-over': 'foreign-redis',
        cut: 'foreign-redis',
      }),
      ...(process.platform === 'win32' && { freeze: 'platform', 'freeze-holder': 'platform' }),
    };
  }
}

function shown({ status, body }: Answer): object {
  return { status, body };
}
