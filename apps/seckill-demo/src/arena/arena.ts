import type { ShopLogLevel } from '../settings.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { ArenaRedis } from './arena-redis.js';
import { ClusterFleet } from './cluster-fleet.js';
import type { FleetOptions } from './cluster-fleet.js';
import { strike } from './fault-run.js';
import type { FaultName, FaultResult } from './fault.js';
import type { Knobs } from './knobs.js';
import type { LoadResult } from './load-result.js';
import { rush } from './load-run.js';
import { PART_NAMES } from './parts/part.js';
import type { PartResult } from './parts/part.js';
import { HASTY_SCENES, PATIENT_SCENES } from './parts/scenes.js';
import type { PartScene } from './parts/scenes.js';
import { Progress } from './progress.js';
import type { Texts } from './texts.js';

/** Short enough to be outlived in seconds, long enough for a noisy machine to renew it in time. */
const FAULT_LEASE_MS = 1_800;
/** Every buyer of a rush is answered within this time: no buyer is busy for lack of time. */
const RUSH_WAIT_MS = 60_000;
/** Long enough for a buyer without others before it. */
const HASTY_WAIT_MS = 800;

/**
 * Plays every strategy through the rush and the faults, and the other parts of the sale; each on
 * products of its own.
 */
export class Arena {
  readonly #progress: Progress;
  #products = 0;

  constructor(
    private readonly knobs: Knobs,
    private readonly redis: ArenaRedis,
    private readonly say: Texts,
    /** Gets every fleet and every frozen process. */
    private readonly care: Pick<FleetOptions, 'onFleet' | 'onFrozen'>,
  ) {
    const { strategies, faults } = knobs;
    const scenes = this.#chosen([...HASTY_SCENES, ...PATIENT_SCENES]);
    this.#progress = new Progress(strategies.length * (2 + faults.length) + scenes.length);
  }

  async rushes(processes: number): Promise<LoadResult[]> {
    if (this.knobs.strategies.length === 0) return [];
    const fleet = await this.#start(processes, { SECKILL_WAIT_MS: `${RUSH_WAIT_MS}` });
    const results: LoadResult[] = [];
    for (const strategy of this.knobs.strategies) {
      this.#progress.step(this.say.rushing(strategy, processes));
      const { stock, buyers } = this.knobs;
      results.push(await rush(fleet, { strategy, productId: this.#newProduct(), stock, buyers }));
    }
    this.#progress.clear();
    await fleet.stop();
    return results;
  }

  async faults(): Promise<FaultResult[]> {
    if (this.knobs.strategies.length === 0 || this.knobs.faults.length === 0) return [];
    const fleet = await this.#start(2, { SECKILL_LEASE_MS: `${FAULT_LEASE_MS}` });
    const results: FaultResult[] = [];
    for (const strategy of this.knobs.strategies) {
      for (const fault of this.knobs.faults) {
        this.#progress.step(this.say.striking(strategy, fault));
        results.push(await this.#strike(fleet, strategy, fault));
      }
    }
    this.#progress.clear();
    await fleet.stop();
    return results;
  }

  /** In the order of PART_NAMES, and without the lock before with it. */
  async parts(): Promise<PartResult[]> {
    const hasty = this.#chosen(HASTY_SCENES);
    const isCold = hasty.some(({ part }) => part === 'opening');
    const results = [
      ...(await this.#play(hasty, {
        SECKILL_WAIT_MS: `${HASTY_WAIT_MS}`,
        SECKILL_COLD: isCold ? '1' : '',
      })),
      ...(await this.#play(this.#chosen(PATIENT_SCENES), { SECKILL_WAIT_MS: `${RUSH_WAIT_MS}` })),
    ];
    const place = ({ part, withLock }: PartResult): number =>
      2 * PART_NAMES.indexOf(part) + Number(withLock);
    return results.sort((a, b) => place(a) - place(b));
  }

  /** Without a strategy there is only the shop. */
  #chosen(scenes: readonly PartScene[]): PartScene[] {
    const { strategies, parts } = this.knobs;
    return scenes.filter(({ part }) => strategies.length > 0 && parts.includes(part));
  }

  async #play(scenes: readonly PartScene[], extra: Record<string, string>): Promise<PartResult[]> {
    if (scenes.length === 0) return [];
    const fleet = await this.#start(this.knobs.instances, extra);
    const results: PartResult[] = [];
    for (const { part, withLock, play } of scenes) {
      this.#progress.step(this.say.playing(part, withLock));
      const { client, keyPrefix } = this.redis;
      const newProduct = (): string => this.#newProduct();
      results.push(await play({ fleet, redis: client, keyPrefix, newProduct }));
    }
    this.#progress.clear();
    await fleet.stop();
    return results;
  }

  async #strike(
    fleet: ClusterFleet,
    strategy: StrategyName,
    fault: FaultName,
  ): Promise<FaultResult> {
    const productId = this.#newProduct();
    const outcome = await strike(fault, {
      fleet,
      strategy,
      productId,
      redis: this.redis.client,
      lockKey: `${this.redis.keyPrefix}product_${productId}`,
      leaseTimeMs: FAULT_LEASE_MS,
    });
    return { strategy, fault, outcome };
  }

  async #start(size: number, extra: Record<string, string>): Promise<ClusterFleet> {
    const environment = { ...fleetEnvironment(this.redis, 'off'), ...extra };
    return ClusterFleet.start({ size, environment, ...this.care });
  }

  #newProduct(): string {
    this.#products += 1;
    return `${this.#products}`;
  }
}

export function fleetEnvironment(
  redis: ArenaRedis,
  logLevel: ShopLogLevel,
): Record<string, string> {
  return {
    REDIS_URL: redis.url,
    SECKILL_KEY_PREFIX: redis.keyPrefix,
    SECKILL_LOG_LEVEL: logLevel,
  };
}
