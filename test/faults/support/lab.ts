import type { Redis } from 'ioredis';
import type { Lease } from 'nestjs-redis-lock';

import { FaultProxy } from '../../support/fault-proxy.js';
import type { RedisFixture } from '../../support/redis-server.js';
import {
  callersClient,
  openApplication,
  type Application,
  type ApplicationOptions,
} from './application.js';
import type { Bug } from './planted.js';

/** On a machine that is busy with other things. */
export const ROUND_TRIP_MS = 200;

/** A workload throws this when the lock does not keep a promise. */
export class Violation extends Error {
  override name = 'Violation';
}

export function demand(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Violation(otherwise);
}

/** Where one workload runs, against the library as it is or with a bug in it. */
export class Lab {
  readonly #applications: Application[] = [];
  readonly #clients: Redis[] = [];

  private constructor(
    readonly redis: RedisFixture,
    readonly referee: RedisFixture,
    readonly proxy: FaultProxy,
    private readonly bug: Bug,
  ) {}

  /** Runs the workload, and cleans up after it. */
  static async run(
    servers: { redis: RedisFixture; referee: RedisFixture },
    bug: Bug,
    workload: (lab: Lab) => Promise<void>,
  ): Promise<void> {
    const proxy = await FaultProxy.start({ port: servers.redis.port });
    const lab = new Lab(servers.redis, servers.referee, proxy, bug);
    const uninstall = bug.install?.();
    try {
      await workload(lab);
    } finally {
      uninstall?.();
      await proxy.heal();
      await Promise.all(lab.#applications.map((application) => application.close()));
      for (const client of lab.#clients) client.disconnect();
      await proxy.close();
    }
  }

  /** An application with a connection of its own. */
  open(url: string, options: ApplicationOptions = {}): Application {
    const { bug } = this;
    const settings = { ...options.settings, ...bug.options?.settings };
    const application = openApplication(url, { ...options, ...bug.options, settings });
    this.#applications.push(application);
    return application;
  }

  /** An application on a client that was made by the caller. */
  openOnClient(url: string, options: ApplicationOptions = {}): Application {
    const client = callersClient(url);
    this.#clients.push(client);
    const { bug } = this;
    const application = openApplication(client, { ...options, ...bug.options });
    this.#applications.push(application);
    return application;
  }
}

/** The lease must be held, or must not be, whatever the library says to it. */
export function isHeld(lease: Lease): boolean {
  try {
    lease.assertHeld();
    return true;
  } catch {
    return false;
  }
}

/** Fails unless the promise keeps itself within this time. */
export async function within<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Violation(`${what}: not within ${String(ms)} ms`));
    }, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
