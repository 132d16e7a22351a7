import { randomUUID } from 'node:crypto';

import type { Clock } from '../core/time/clock.js';
import { helperKey } from '../core/redis/key-names.js';
import type { Lease } from '../core/api/lease.js';
import type { LockContext } from '../core/lock-context.js';
import type { LockEvent } from '../core/api/observer.js';
import type { RedisConnection } from '../core/redis/connection.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { reasonOf, textOf } from './answers.js';
import { rounded } from './clocks.js';
import { fail, ok, warn, type Finding } from './finding.js';
import type { Server } from '../connection/cli-target.js';
import { closed, contextOn } from './watch.js';

/** If this process crashes, the probe stays for this time. */
const LEASE_MS = 10_000;
const HEARD_MS = 2_000;
/** How many names are tried to find one on a certain node. */
const MOST_NAMES = 10_000;

/** A real lock on a name that no other client uses. */
export class Probe {
  readonly #context: LockContext;
  readonly #locks: LockService;
  readonly #connection: RedisConnection;
  readonly #id = `doctor:${randomUUID()}`;
  #events: LockEvent[] = [];

  /** @throws {LockConfigurationError} the prefix cannot be used */
  constructor(
    server: Server,
    private readonly keyPrefix: string,
    private readonly clock: Clock,
  ) {
    const { connection, context } = contextOn(server, keyPrefix, clock, (event) => {
      this.#events.push(event);
    });
    this.#connection = connection;
    this.#context = context;
    this.#locks = new LockService(this.#context);
  }

  /** A name of the probe on this node of a Cluster; elsewhere any. */
  nameOn(node: string): string {
    for (let i = 0; i < MOST_NAMES; i++) {
      const name = `${this.#id}:${String(i)}`;
      const at = this.#connection.place(this.keyPrefix + name).node;
      if (at === '' || at === node) return name;
    }
    return this.#id;
  }

  /** The lock, or the reason why there is none. */
  async take(name: string): Promise<Lease | Finding> {
    try {
      const lease = await this.#locks.tryAcquire(name, { leaseTimeMs: LEASE_MS });
      return lease ?? fail('lock', 'a random name is held already', 'run this command again');
    } catch (error) {
      return fail('lock', `the probe was not granted: ${reasonOf(error)}`, FIX);
    }
  }

  /** Releases the lock, and waits for its message. */
  async giveBack(lease: Lease): Promise<Finding[]> {
    this.#events = [];
    const key = this.keyPrefix + lease.name;
    const ears = listenTo(this.#connection, helperKey('redisson_lock__channel', key));
    try {
      const isListening = await isSoon(ears.confirmed, () => this.#silence() !== undefined);
      const start = this.clock.now();
      await lease.release();
      const found = ok('lock', `granted, and released in ${rounded(this.clock.now() - start)}`);
      if (!isListening)
        return [found, deaf(`the user may not subscribe: ${textOf(this.#silence())}`)];
      if (this.#isUntold()) return [found, deaf('the user may not publish')];
      if (!(await isSoon(ears.heard, () => false)))
        return [found, deaf('no message arrived in 2 s')];
      const afterMs = this.clock.now() - start;
      return [found, ok('message', `received ${rounded(afterMs)} after the release was sent`)];
    } catch (error) {
      return [fail('lock', `the probe was not released: ${reasonOf(error)}`, FIX)];
    } finally {
      ears.stop();
    }
  }

  /** Removes the probe. */
  async close(): Promise<void> {
    await closed(this.#context);
  }

  /** The reason why no message arrives. */
  #silence(): unknown {
    const silence = this.#events.find(({ type }) => type === 'messages-failed');
    return silence !== undefined && 'error' in silence ? silence.error : undefined;
  }

  #isUntold(): boolean {
    return this.#events.some(({ type }) => type === 'wake-up-failed');
  }
}

const FIX = 'see the other findings, permissions first';

function deaf(why: string): Finding {
  return warn(
    'message',
    `${why}: waiters find out by polling, after pollIntervalMs at most`,
    'grant the permissions for the channels; behind a proxy without pub/sub, tuning.wakeUp: poll',
  );
}

interface Ears {
  readonly confirmed: Promise<unknown>;
  readonly heard: Promise<unknown>;
  stop(): void;
}

function listenTo(connection: RedisConnection, channel: string): Ears {
  const ears: Partial<Record<'confirmed' | 'heard' | 'stop', () => void>> = {};
  const confirmed = new Promise<void>((resolve) => (ears.confirmed = resolve));
  const heard = new Promise<void>((resolve) => (ears.heard = resolve));
  const stop = connection.listen(channel, {
    confirmed: () => ears.confirmed?.(),
    message: () => ears.heard?.(),
  });
  return { confirmed, heard, stop };
}

const LOOK_MS = 20;

/** Whether the fact occurs within 2 s; false at once when it cannot occur. */
async function isSoon(fact: Promise<unknown>, isHopeless: () => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    let leftMs = HEARD_MS;
    const looking = setInterval(() => {
      leftMs -= LOOK_MS;
      if (leftMs > 0 && !isHopeless()) return;
      clearInterval(looking);
      resolve(false);
    }, LOOK_MS);
    void fact.then(() => {
      clearInterval(looking);
      resolve(true);
    });
  });
}
