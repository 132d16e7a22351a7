import type { ShopLogLevel } from '../settings.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { ArenaServers } from './arena-servers.js';
import { duelCell, faultCell, partCell, rushCell } from './cell.js';
import type { Cell, CellResult, RushCell } from './cell.js';
import { ClusterFleet } from './cluster-fleet.js';
import type { FleetOptions } from './cluster-fleet.js';
import { Doors } from './doors.js';
import { expectedOf } from './expected-matrix.js';
import { strike } from './fault-run.js';
import type { FaultName } from './fault.js';
import type { Options } from '../options/parse.mjs';
import { rush } from './load-run.js';
import { HASTY_SCENES, PATIENT_SCENES } from './parts/scenes.js';
import type { PartScene } from './parts/scenes.js';
import { QueueWatch } from './queue-watch.js';
import { Reporter } from './reporter.js';
import { sourcesOf } from './sources.js';
import type { Steps } from './steps.js';

/** Short, so that a run outlives it within seconds; long enough that a noisy machine renews in time. */
const FAULT_LEASE_MS = 1_800;
/** Longer than the lease, but short for a buyer that waits for a frozen process. */
const FAULT_WAIT_MS = 5_000;
/** Every buyer of a rush gets an answer within this time: no buyer is busy for lack of time. */
const RUSH_WAIT_MS = 60_000;
/** Long enough for a buyer that has no other buyers before it. */
const HASTY_WAIT_MS = 800;
/** The first scene: the sale without a lock and with this library. */
const DUELLISTS: readonly StrategyName[] = ['naive', 'redis-lock'];

/**
 * Plays every strategy through the rush and the faults, and then the other parts of the sale. Each
 * cell has its own products. Every event becomes a step.
 */
export class Arena {
  readonly #reporter: Reporter;
  readonly #skipped = new AbortController();

  constructor(
    private readonly options: Options,
    private readonly redis: ArenaServers,
    private readonly steps: Steps,
    /** Registers every fleet and every frozen process. */
    private readonly care: Pick<FleetOptions, 'onFleet' | 'onFrozen'>,
  ) {
    this.#reporter = new Reporter(steps, redis);
  }

  /** All cells of this run, in display order. */
  get cells(): readonly Cell[] {
    const { strategies, faults, instances } = this.options;
    return [
      ...this.#duellists.map((strategy) => duelCell(strategy, instances)),
      ...strategies.flatMap((strategy) => [
        rushCell(strategy, 1),
        rushCell(strategy, instances),
        ...faults.map((fault) => faultCell(strategy, fault)),
      ]),
      ...this.#chosen([...HASTY_SCENES, ...PATIENT_SCENES]).map(({ part, withLock }) =>
        partCell(part, withLock),
      ),
    ];
  }

  /** Resolves when all cells are played, or when the rest is skipped. */
  async play(): Promise<void> {
    const { stock, buyers, instances: processes, strategies } = this.options;
    const startedAt = Date.now();
    this.steps.add({
      kind: 'run-began',
      ...{ stock, buyers, processes },
      cells: this.cells.map((cell) => ({ ...cell, expected: expectedOf(cell) })),
      sources: await sourcesOf(strategies),
      versions: {
        node: process.versions.node,
        redis: await this.redis.version(),
        postgres: await this.redis.database.version(),
      },
    });
    await this.#rushes();
    await this.#faults();
    await this.#parts();
    this.steps.add({ kind: 'run-ended', tookMs: Date.now() - startedAt });
  }

  /** Ends the run after the current cell. */
  skip(): void {
    this.#skipped.abort();
  }

  get #duellists(): readonly StrategyName[] {
    const { mode, json, record, strategies } = this.options;
    const isWatched = (mode === 'serve' && !json) || record !== undefined;
    const isComplete = DUELLISTS.every((strategy) => strategies.includes(strategy));
    return isWatched && isComplete ? DUELLISTS : [];
  }

  /** Without a strategy, the run has only the shop. */
  #chosen(scenes: readonly PartScene[]): PartScene[] {
    const { strategies, parts } = this.options;
    return scenes.filter(({ part }) => strategies.length > 0 && parts.includes(part));
  }

  async #rushes(): Promise<void> {
    const { strategies, instances } = this.options;
    if (strategies.length === 0) return;
    const patient = { SECKILL_WAIT_MS: `${RUSH_WAIT_MS}` };
    await this.#withFleet(instances, patient, async (fleet) => {
      const duel = this.#duellists.map((one) => duelCell(one, instances));
      const doors = new Doors(fleet, duel.length);
      await Promise.all(duel.map((cell) => this.#rush(fleet, cell, doors)));
      for (const strategy of strategies) await this.#rush(fleet, rushCell(strategy, instances));
    });
    await this.#withFleet(1, patient, async (fleet) => {
      for (const strategy of strategies) await this.#rush(fleet, rushCell(strategy, 1));
    });
  }

  async #faults(): Promise<void> {
    const { strategies, faults } = this.options;
    if (strategies.length === 0 || faults.length === 0) return;
    const extra = { SECKILL_LEASE_MS: `${FAULT_LEASE_MS}`, SECKILL_WAIT_MS: `${FAULT_WAIT_MS}` };
    await this.#withFleet(2, extra, async (fleet) => {
      for (const strategy of strategies) {
        for (const fault of faults) await this.#strike(fleet, strategy, fault);
      }
    });
  }

  async #parts(): Promise<void> {
    const hasty = this.#chosen(HASTY_SCENES);
    const isCold = hasty.some(({ part }) => part === 'opening');
    await this.#playScenes(hasty, {
      SECKILL_WAIT_MS: `${HASTY_WAIT_MS}`,
      SECKILL_COLD: isCold ? '1' : '',
    });
    const patient = { SECKILL_WAIT_MS: `${RUSH_WAIT_MS}` };
    await this.#playScenes(this.#chosen(PATIENT_SCENES), patient);
  }

  async #playScenes(scenes: readonly PartScene[], extra: Record<string, string>): Promise<void> {
    if (scenes.length === 0) return;
    await this.#withFleet(this.options.instances, extra, async (fleet) => {
      for (const { part, withLock, play } of scenes) {
        const cell = partCell(part, withLock);
        const { client, keyPrefix } = this.redis;
        const newProduct = (): string => this.#reporter.newProduct(cell);
        await this.#play(cell, async () => ({
          kind: 'part',
          ...(await play({
            ...{ fleet, redis: client, keyPrefix, newProduct },
            ...this.#reporter.of(cell),
          })),
        }));
      }
    });
  }

  #rush(fleet: ClusterFleet, cell: RushCell, doors?: Doors): Promise<void> {
    const { stock, buyers } = this.options;
    const { strategy, kind } = cell;
    const { client, keyPrefix } = this.redis;
    const productId = this.#reporter.newProduct(cell);
    const lock = `${keyPrefix}product_${productId}`;
    const { onAnswer } = this.#reporter.of(cell);
    return this.#play(cell, async () => ({
      kind,
      ...(await rush(fleet, {
        ...{ strategy, productId, stock, buyers, doors, onAnswer },
        countCommands: () => this.redis.commands(),
        watchQueue: strategy === 'fair' ? () => QueueWatch.of(client, lock) : undefined,
        allRead: kind === 'duel',
      })),
    }));
  }

  #strike(fleet: ClusterFleet, strategy: StrategyName, fault: FaultName): Promise<void> {
    const cell = faultCell(strategy, fault);
    const productId = this.#reporter.newProduct(cell);
    const { onAnswer, onStruck } = this.#reporter.of(cell);
    const { client: redis, keyPrefix } = this.redis;
    return this.#play(cell, async () => ({
      ...{ kind: 'fault', strategy, fault },
      outcome: await strike(fault, {
        ...{ fleet, strategy, productId, redis, onAnswer, onStruck },
        lockKey: `${keyPrefix}product_${productId}`,
        leaseTimeMs: FAULT_LEASE_MS,
      }),
    }));
  }

  async #play(cell: Cell, play: () => Promise<CellResult>): Promise<void> {
    if (this.#skipped.signal.aborted) return;
    const { id } = cell;
    this.steps.add({ kind: 'cell-began', cell: id });
    const result = await this.#reporter.watching(cell, play);
    const expected = expectedOf(cell);
    this.steps.add({ kind: 'cell-ended', cell: id, outcome: result.outcome, expected, result });
  }

  async #withFleet(
    size: number,
    extra: Record<string, string>,
    work: (fleet: ClusterFleet) => Promise<void>,
  ): Promise<void> {
    if (this.#skipped.signal.aborted) return;
    const environment = { ...fleetEnvironment(this.redis, 'off'), ...extra };
    const { onNotes, onProcess } = this.#reporter;
    const fleet = await ClusterFleet.start({ size, environment, onNotes, onProcess, ...this.care });
    await work(fleet);
    await fleet.stop();
  }
}

export function fleetEnvironment(
  redis: ArenaServers,
  logLevel: ShopLogLevel,
): Record<string, string> {
  return {
    REDIS_URL: redis.url,
    DATABASE_URL: redis.database.url,
    SECKILL_DATABASE_SCHEMA: redis.database.schema,
    SECKILL_KEY_PREFIX: redis.keyPrefix,
    SECKILL_LOG_LEVEL: logLevel,
  };
}
