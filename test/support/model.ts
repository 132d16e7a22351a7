import { beforeAll, expect } from '@jest/globals';
import fc from 'fast-check';
import { LeaseLostError, type Lease, type LockSettings } from 'nestjs-redis-lock';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { openIoredisConnection } from '../../libs/redis-lock/src/ioredis/ioredis-connection.js';
import { PassThrough } from './pass-through.js';
import { seededRandom } from './random.js';
import type { RedisFixture } from './redis-server.js';

const SEQUENCES = 150;
const LONGEST_SEQUENCE = 25;
const MOST_DELIVERIES = 3;

/** Delivers every script several times, as ioredis does after a cut; the last answer arrives. */
class RepeatingConnection extends PassThrough {
  deliveries = 1;

  protected override async around<R>(
    _script: string,
    run: () => Promise<Reply<R>>,
  ): Promise<Reply<R>> {
    const first = await run();
    let last = first;
    for (let i = 1; i < this.deliveries; i += 1) last = await run();
    return { value: last.value, sentAt: first.sentAt, resent: this.deliveries > 1 };
  }
}

/** A stage that runs the steps of a sequence for real. */
export interface Repeating {
  /** So often is every script delivered from now on. */
  deliver(times: number): void;
  /** Every script has to be sent whole once more. */
  forgetScripts(): Promise<void>;
  close(): Promise<void>;
}

/** Clients whose scripts are delivered as often as a command of the model says. */
export class RepeatingClients<Locks> implements Repeating {
  readonly all: Locks[] = [];
  readonly #contexts: LockContext[] = [];
  readonly #connections: RepeatingConnection[] = [];

  constructor(private readonly redis: RedisFixture) {}

  open(serviceOf: (context: LockContext) => Locks, settings: Partial<LockSettings>): void {
    const connection = new RepeatingConnection(openIoredisConnection(this.redis.url));
    const context = new LockContext(connection, settings);
    this.#connections.push(connection);
    this.#contexts.push(context);
    this.all.push(serviceOf(context));
  }

  deliver(times: number): void {
    for (const connection of this.#connections) connection.deliveries = times;
  }

  async forgetScripts(): Promise<void> {
    await this.redis.admin.script('FLUSH');
  }

  async close(): Promise<void> {
    await Promise.all(this.#contexts.map((context) => context.close()));
  }
}

/** Some clients of a primitive for the model spec of a file, until `expectToFollowModel` is done. */
export function useRepeatingClients<Locks>(
  redis: RedisFixture,
  count: number,
  serviceOf: (context: LockContext) => Locks,
  settings: Partial<LockSettings> = {},
): RepeatingClients<Locks> {
  const clients = new RepeatingClients<Locks>(redis);
  beforeAll(() => {
    for (let i = 0; i < count; i += 1) clients.open(serviceOf, settings);
  });
  return clients;
}

/** One step of a sequence: what the model says of it, and what really happens. */
export interface Step<Model extends object, Real = undefined> {
  /** Whether the step makes sense now; true unless given. */
  readonly fits?: (model: Model) => boolean;
  /** Does it for real, changes the model, and expects both to agree. */
  readonly run: (model: Model, real: Real) => Promise<void>;
  /** As shown for a sequence that fails. */
  readonly shows: string;
}

/** A step that does something to one of the grants, if there are any. */
export function stepOnGrant<Grant, Model extends { readonly grants: ReadonlySet<Grant> }>(
  what: string,
  run: (grant: Grant, model: Model) => Promise<void>,
) {
  return fc.nat({ max: 9 }).map((n): Step<Model> => ({
    shows: `lease ${String(n)} ${what}`,
    fits: ({ grants }) => grants.size > 0,
    run: (model) => run([...model.grants][n % model.grants.size] as Grant, model),
  }));
}

/** A lease that was granted and not released. */
export interface LeaseGrant {
  readonly lease: Lease;
  isLost: boolean;
}

/** Leases are renewed and released; those that are lost say so. */
export function stepsOnLeases<
  Grant extends LeaseGrant,
  Model extends { readonly grants: Set<Grant> },
>(leaseTimeMs: number) {
  const renews = stepOnGrant<Grant, Model>('is renewed', async ({ lease, isLost }) => {
    if (isLost) await expect(lease.renew()).rejects.toThrow(LeaseLostError);
    else await lease.renew(leaseTimeMs);
  });
  const releases = stepOnGrant<Grant, Model>('is released', async (grant, { grants }) => {
    if (grant.isLost) await grant.lease.release().catch(() => undefined);
    else await grant.lease.release();
    grants.delete(grant);
  });
  return [renews, releases];
}

/**
 * Runs random sequences of steps against the model and the real thing, with every script delivered
 * one to three times; Redis forgets its scripts in between. A failure shows the shortest sequence
 * that fails, its seed and its path.
 * @param begin a new model, and the real thing in its first state
 * @param agree is expected to hold after every step
 * @param size `max` for sequences that are often as long as the longest, where steps are quick
 */
export async function expectToFollowModel<Model extends object, Real>(
  label: string,
  clients: Repeating,
  steps: fc.Arbitrary<Step<Model, Real>>[],
  begin: () => Promise<{ model: Model; real: Real }>,
  agree: (model: Model, real: Real) => Promise<void>,
  size: 'small' | 'max' = 'small',
): Promise<void> {
  const forgets = fc.constant<Step<Model, Real>>({
    shows: 'Redis forgets its scripts',
    run: () => clients.forgetScripts(),
  });
  const commands = [...steps, forgets].map((arbitrary) =>
    fc
      .tuple(arbitrary, fc.integer({ min: 1, max: MOST_DELIVERIES }))
      .map(([step, deliveries]): fc.AsyncCommand<Model, Real> => ({
        check: (model) => step.fits?.(model) ?? true,
        run: async (model, real) => {
          clients.deliver(deliveries);
          await step.run(model, real);
          clients.deliver(1);
          await agree(model, real);
        },
        toString: () => `${step.shows} (delivered ${String(deliveries)}×)`,
      })),
  );
  const sequences = fc.commands(commands, { maxCommands: LONGEST_SEQUENCE, size });
  const seed = seededRandom(label).int(0, 2 ** 31 - 1);
  const property = fc.asyncProperty(sequences, (sequence) => fc.asyncModelRun(begin, sequence));
  try {
    await fc.assert(property, { numRuns: SEQUENCES, seed });
  } finally {
    clients.deliver(1);
    await clients.close();
  }
}
