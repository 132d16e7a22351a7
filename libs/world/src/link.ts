import type { RedisServer } from '../../redis-lock/src/testing/server/redis-server.js';
import type { Mishaps } from './mishaps.js';
import type { SimulatedProcess } from './simulated-process.js';
import { ARRIVAL, type Actor, type World } from './world.js';

/** The conditions of the network. */
export interface Weather {
  /** The chance that something takes up to this much longer. */
  spikes: number;
  spikeMs: number;
}

const LEAST_MS = 0.05;
const USUAL_MS = 0.4;

/** A Redis server of a world. */
export interface WorldServer extends RedisServer, Actor {
  readonly isUp: boolean;
  readonly links: Set<Link>;
  /** Calls back with the number of replicas that have all writes, after this time at the latest. */
  whenInStep(replicas: number, ms: number, callback: (have: number) => void): void;
}

/** Leads clients to the server that is the master now. */
export interface Address {
  readonly master: WorldServer;
}

/** A process, and the world around it. */
export interface Site {
  readonly world: World;
  readonly weather: Weather;
  readonly mishaps: Mishaps;
  readonly process: SimulatedProcess;
}

/** A connection between a process and a server. Requests and answers keep their order, or are lost. */
export class Link {
  isCut = false;
  /** Nothing arrives before this time. */
  silentUntil = 0;
  #thereAt = 0;
  #backAt = 0;
  #isForgotten = false;
  #isArriving = false;
  readonly #forgotten: (() => void)[] = [];

  /** @param onBroken the process learns that it is cut */
  constructor(
    private readonly site: Site,
    readonly server: WorldServer,
    private readonly onBroken: () => void,
  ) {
    server.links.add(this);
    site.process.onDeath(() => {
      this.cut({ forgottenAfterMs: 1 });
    });
  }

  /** Does the work at the server, once it has arrived. */
  send(work: () => void): number {
    this.#thereAt = this.#arrival(this.#thereAt);
    const arrive = () => {
      if (!this.isCut || (this.#isArriving && !this.#isForgotten && this.server.isUp)) work();
    };
    this.site.world.at(this.#thereAt, arrive, this.server, ARRIVAL);
    return this.#thereAt;
  }

  /** Does the work in the process, once it has arrived. */
  deliver(work: () => void): number {
    this.#backAt = this.#arrival(this.#backAt);
    const arrive = () => {
      if (!this.isCut) work();
    };
    this.site.world.at(this.#backAt, arrive, this.site.process, ARRIVAL);
    return this.#backAt;
  }

  /** Calls back when the server has noticed the end of the connection. */
  onForgotten(callback: () => void): void {
    if (this.#isForgotten) callback();
    else this.#forgotten.push(callback);
  }

  /**
   * Answers on their way are lost. Requests are, too, or the server has them before it notices.
   * @param noticedAfterMs how long the process believes in it
   * @param forgottenAfterMs how long the server believes in it
   */
  cut({ noticedAfterMs = 1, forgottenAfterMs = 1 } = {}): void {
    if (this.isCut) return;
    this.isCut = true;
    const { world, process } = this.site;
    this.#isArriving = world.random.chance(0.5);
    world.at(world.now + noticedAfterMs, this.onBroken, process, ARRIVAL);
    world.after(forgottenAfterMs, () => {
      this.#forget();
    });
  }

  #forget(): void {
    this.#isForgotten = true;
    this.server.links.delete(this);
    for (const callback of this.#forgotten.splice(0)) callback();
  }

  #arrival(last: number): number {
    const { world, weather } = this.site;
    const { random } = world;
    const spike = random.chance(weather.spikes) ? random.next() * weather.spikeMs : 0;
    const at = world.now + LEAST_MS + random.next() * USUAL_MS + spike;
    return Math.max(at, last, this.silentUntil);
  }
}
