import { describe, expect, it } from '@jest/globals';

import { ACQUIRE } from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { Reply } from '../../libs/redis-lock/src/core/redis/connection.js';
import { eventually, seededRandom } from '../support/set-up.js';
import {
  AgedServer,
  Gate,
  useRedLocks,
  useServers,
  type RedLockClient,
} from '../support/red-lock-client.js';
import { overlapsIn, sectionsOf } from './support/history.js';
import { isHeld } from './support/lab.js';
import { pause } from './support/pace.js';
import { acquireInTurns } from './support/red-crowd.js';

const NAME = 'product_1';
const RUN_MS = 1_500;
const SLOW_MS = 700;
const SHORT_LEASE_MS = 400;

/** Two nodes of five, as if half of them were a majority. */
function acceptHalf({ connection }: RedLockClient): void {
  Object.assign(connection, { quorum: Math.floor(connection.nodes.length / 2) });
}

/** Votes count however long they took, and the lease from the moment at which they are there. */
function acceptLateVotes({ connection }: RedLockClient): void {
  const clock = { wall: () => Date.now(), now: () => performance.now() + SLOW_MS };
  Object.assign(connection, { limitMs: () => 60_000, clock });
}

/** Answers to entries come late, though they were quick to be executed. */
class SlowAnswers extends AgedServer {
  protected override async around<R>(script: string, run: () => Promise<Reply<R>>) {
    const reply = await super.around(script, run);
    if (script === ACQUIRE.name) await pause(SLOW_MS);
    return reply;
  }
}

describe('red locks that are broken on purpose', () => {
  const servers = useServers(5);
  const open = useRedLocks(servers);

  /** Two clients that see different halves of the nodes. */
  async function sectionsOfTwo(plant: (client: RedLockClient) => void) {
    const random = seededRandom('planted/red-lock');
    const clients = [
      [0, 1],
      [3, 4],
    ].map((blind) => {
      const client = open({
        pollIntervalMs: 50,
        decorate: (connection, node) => new Gate(connection, () => blind.includes(node)),
      });
      plant(client);
      return client;
    });
    // Some clients of Redis take long to connect.
    for (const { locks } of clients) await locks.using('warm', () => undefined);
    const until = performance.now() + RUN_MS;
    const isOver = () => performance.now() >= until;
    const reports = await Promise.all(
      clients.map((client, i) =>
        acquireInTurns(client, { name: NAME, random: random.fork(i), isOver }),
      ),
    );
    return sectionsOf(reports.map(({ history }) => history.pack()));
  }

  it('sees a majority that is none', async () => {
    const sound = await sectionsOfTwo(() => undefined);
    expect(sound.length).toBeGreaterThan(5);
    expect(overlapsIn(sound)).toEqual([]);
    expect(overlapsIn(await sectionsOfTwo(acceptHalf))).not.toEqual([]);
  });

  /** Whether two have the lock at once when the votes for the first come later than its lease ends. */
  async function hasTwoHolders(plant: (client: RedLockClient) => void) {
    const slow = open({ decorate: (connection) => new SlowAnswers(connection) });
    const quick = open();
    plant(slow);
    for (const { connection } of [slow, quick])
      await eventually(() => connection.nodes.every(({ guard }) => guard.runId !== undefined));
    const first = slow.locks.tryAcquire(NAME, { leaseTimeMs: SHORT_LEASE_MS }).catch(() => null);
    await eventually(() => quick.locks.get(NAME).isLocked());
    const second = await quick.locks.acquire(NAME);
    const late = await first;
    const isDouble = late !== null && isHeld(late) && isHeld(second);
    await second.release();
    await late?.release().catch(() => undefined);
    return isDouble;
  }

  it('sees that no client looks how long the votes took', async () => {
    expect(await hasTwoHolders(() => undefined)).toBe(false);
    expect(await hasTwoHolders(acceptLateVotes)).toBe(true);
  });
});
