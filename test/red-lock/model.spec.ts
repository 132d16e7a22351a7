import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LockBackendError } from 'nestjs-redis-lock';
import { RELEASE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { RedisConnection, Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import type { AcquireTerms } from '../../libs/redis-lock/src/core/holding/protocol.js';
import { openIoredisConnection } from '../../libs/redis-lock/src/ioredis/ioredis-connection.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { RedLockProtocol } from '../../libs/redis-lock/src/primitives/red-lock/red-lock-protocol.js';
import { PassThrough } from '../support/pass-through.js';
import { eventually, seededRandom } from '../support/set-up.js';
import { AgedServer, useServers } from '../support/red-lock-client.js';

const CLIENTS = 3;
const NODES = 3;
const SEQUENCES = 150;
const LEASE_MS = 60_000;
const KEY = 'a';

/** `down`: nothing arrives; `deaf`: all arrives, and no answer comes back. */
type Way = 'up' | 'down' | 'deaf';

/** The way of one client to one node, which fails as a sequence says. */
class FickleConnection extends PassThrough {
  way: Way = 'up';
  deliveries = 1;
  readonly #listeners = new Set<() => void>();

  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    if (this.way === 'down') throw failure('none');
    let reply = await run();
    for (let i = 1; i < this.deliveries; i += 1) reply = await run();
    // The way may have become `deaf` meanwhile, so it is read again.
    if ((this.way as Way) === 'deaf') throw failure('unknown');
    // A client counts the answer to a resent script for no vote; here the repeated scripts are to count.
    return { ...reply, resent: this.deliveries > 1 && script === RELEASE.name };
  }

  override onUp(listener: () => void) {
    this.#listeners.add(listener);
    const stop = super.onUp(listener);
    return () => {
      this.#listeners.delete(listener);
      stop();
    };
  }

  heal(): void {
    if (this.way === 'up') return;
    this.way = 'up';
    for (const listener of this.#listeners) listener();
  }
}

function failure(outcome: 'none' | 'unknown') {
  return new LockBackendError('the way is blocked', { retryable: true, outcome });
}

class Client {
  readonly ways: readonly FickleConnection[];
  readonly connection: QuorumConnection;
  readonly protocol: RedLockProtocol;
  #owners = 0;

  constructor(
    private readonly index: number,
    urls: readonly string[],
  ) {
    const open = (url: string): RedisConnection => new AgedServer(openIoredisConnection(url));
    this.ways = urls.map((url) => new FickleConnection(open(url)));
    this.connection = new QuorumConnection(this.ways, { longestLeaseMs: LEASE_MS });
    this.protocol = new RedLockProtocol(this.connection, 0);
  }

  newOwner() {
    return `c0ffee00-0000-4000-8000-00000000000${String(this.index)}:${String(++this.#owners)}`;
  }

  get reachable(): number {
    return this.ways.filter(({ way }) => way === 'up').length;
  }
}

interface Model {
  holder: { client: number; owner: string } | undefined;
  lastToken: number;
}

const termsOf = (fenced: boolean): AcquireTerms => ({
  ...{ leaseTimeMs: LEASE_MS, fenced, waitTimeMs: 0, minReplicas: 0 },
});

describe('RedLockProtocol and its model', () => {
  const servers = useServers(NODES);
  let clients: Client[] = [];
  const clientOf = (index: number) => clients[index] as Client;

  const command = (
    shows: string,
    run: (model: Model) => Promise<void>,
    check: (model: Model) => boolean = () => true,
  ): fc.AsyncCommand<Model, undefined> => ({ check, run, toString: () => shows });
  const aClient = fc.nat({ max: CLIENTS - 1 });

  const enters = fc.tuple(aClient, fc.boolean()).map(([index, fenced]) =>
    command(`client ${String(index)} enters${fenced ? ', fenced' : ''}`, async (model) => {
      const { protocol, newOwner, reachable } = bound(clientOf(index));
      const owner = newOwner();
      const entering = protocol.acquire({ key: KEY, owner }, termsOf(fenced), 1);
      const answer = await entering.then(({ value }) => value, asBackendError);
      if (reachable < 2) expect(answer).toBeInstanceOf(LockBackendError);
      if (answer instanceof LockBackendError || answer.kind !== 'granted') return;
      // The one thing that matters.
      expect(model.holder).toBeUndefined();
      model.holder = { client: index, owner };
      if (!fenced) return;
      expect(answer.fencingToken).toBeGreaterThan(model.lastToken);
      model.lastToken = answer.fencingToken ?? 0;
    }),
  );

  const onHolder = (shows: string, run: (model: Model, holder: Holder) => Promise<void>) =>
    fc.constant(
      command(
        shows,
        (model) => run(model, model.holder as Holder),
        (model) => model.holder !== undefined,
      ),
    );
  type Holder = NonNullable<Model['holder']>;

  const renews = onHolder('the holder renews', async (_, { client, owner }) => {
    const { protocol, reachable } = bound(clientOf(client));
    const renewing = protocol.renew([{ key: KEY, owner, renewMs: LEASE_MS }]);
    const answer = await renewing.then(({ value }) => value[0], asBackendError);
    if (reachable === NODES) expect(answer).toBe(true);
    else if (reachable < 2) expect(answer).toBeInstanceOf(LockBackendError);
    else expect(answer).not.toBe(false);
  });

  const loses = onHolder(
    'the lease runs out, or another client deletes it',
    async (model, holder) => {
      await Promise.all(servers.map(({ admin }) => admin.del(KEY)));
      const { protocol, reachable } = bound(clientOf(holder.client));
      const renewing = protocol.renew([{ key: KEY, owner: holder.owner, renewMs: LEASE_MS }]);
      const answer = await renewing.then(({ value }) => value[0], asBackendError);
      if (reachable === NODES) expect(answer).toBe(false);
      else expect(answer).not.toBe(true);
      // A client that did not learn of the loss releases the lock at its end by the local clock.
      if (answer !== false)
        await protocol.release({ key: KEY, owner: holder.owner }, 0).catch(asBackendError);
      model.holder = undefined;
    },
  );

  const leaves = onHolder('the holder leaves', async (model, { client, owner }) => {
    const { protocol, reachable } = bound(clientOf(client));
    const leaving = protocol.release({ key: KEY, owner }, 0);
    const answer = await leaving.then((reply) => reply, asBackendError);
    if (reachable === NODES) expect(answer).not.toBeInstanceOf(LockBackendError);
    if (!(answer instanceof LockBackendError) && answer.value === 'absent')
      expect(answer.resent).toBe(true);
    model.holder = undefined;
  });

  const fails = fc
    .tuple(aClient, fc.nat({ max: NODES - 1 }), fc.constantFrom<Way>('down', 'deaf', 'up'))
    .map(([index, node, way]) =>
      command(`node ${String(node)} is ${way} for client ${String(index)}`, async () => {
        const one = clientOf(index).ways[node] as FickleConnection;
        if (way === 'up') one.heal();
        else one.way = way;
      }),
    );

  const repeats = fc.integer({ min: 1, max: 3 }).map((times) =>
    command(`scripts are delivered ${String(times)}×`, async () => {
      for (const { ways } of clients) for (const way of ways) way.deliveries = times;
    }),
  );

  /** With all ways open nothing is left but what the holder has. */
  async function settle(holder: Holder | undefined) {
    for (const way of clients.flatMap(({ ways }) => ways)) way.heal();
    if (holder !== undefined)
      await clientOf(holder.client).protocol.release({ key: KEY, owner: holder.owner }, 0);
    for (const { admin } of servers)
      await eventually(async () => (await admin.exists(KEY)) === 0, { everyMs: 1 });
  }

  it('never has two holders, and leaves no vote behind, whichever nodes fail', async () => {
    clients = Array.from(
      { length: CLIENTS },
      (_, i) =>
        new Client(
          i,
          servers.map(({ url }) => url),
        ),
    );
    for (const { connection } of clients)
      await eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
    const sequences = fc.commands([enters, enters, renews, loses, leaves, fails, fails, repeats], {
      maxCommands: 12,
    });
    const seed = seededRandom('red-lock').int(0, 2 ** 31 - 1);
    const property = fc.asyncProperty(sequences, async (sequence) => {
      for (const way of clients.flatMap(({ ways }) => ways)) {
        way.heal();
        way.deliveries = 1;
      }
      await Promise.all(servers.map(({ admin }) => admin.flushall()));
      const model: Model = { holder: undefined, lastToken: 0 };
      await fc.asyncModelRun(() => Promise.resolve({ model, real: undefined }), sequence);
      await settle(model.holder);
    });
    try {
      await fc.assert(property, { numRuns: SEQUENCES, seed });
    } finally {
      await Promise.all(clients.map(({ connection }) => connection.close()));
    }
  });
});

function bound(client: Client) {
  return {
    protocol: client.protocol,
    reachable: client.reachable,
    newOwner: () => client.newOwner(),
  };
}

function asBackendError(error: unknown): LockBackendError {
  if (error instanceof LockBackendError) return error;
  throw error;
}
