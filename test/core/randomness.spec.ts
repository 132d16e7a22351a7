import { describe, expect, it } from '@jest/globals';
import { LockService, RedLockService, SemaphoreService } from 'nestjs-redis-lock/core';
import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import type { RedisConnection } from '../../libs/redis-lock/src/core/redis/connection.js';
import type { Random } from '../../libs/redis-lock/src/core/time/random.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { ManualClock } from '../../libs/redis-lock/src/testing/manual-clock.js';
import { InProcessConnection } from '../../libs/redis-lock/src/testing/server/in-process-connection.js';
import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { Random as Stream } from '../support/random.js';

const waitTimeMs = 3_000;
const longestLeaseMs = 30_000;

class FixedClock extends ManualClock {
  override wall(): number {
    return Date.UTC(2030, 0) + this.now();
  }
}

function randomOf(seed: string): Random {
  const stream = new Stream(seed);
  const fill = (bytes: Buffer) => {
    for (const i of bytes.keys()) bytes[i] = stream.int(0, 255);
  };
  const uuid = () => {
    const bytes = Buffer.alloc(16);
    fill(bytes);
    return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  };
  return { number: () => stream.next(), uuid, fill };
}

/** Sends to the servers, and notes each request with its time. */
class Noted extends InProcessConnection {
  constructor(
    server: RedisServer,
    private readonly requests: unknown[],
  ) {
    super(server);
  }

  override run: RedisConnection['run'] = (script, keys, args) => {
    this.requests.push([this.server.clock.now(), script.name, keys, args]);
    return super.run(script, keys, args);
  };
}

/** All requests of clients for which only what is random can differ. */
async function requestsWith(seed: string): Promise<unknown[]> {
  const clock = new FixedClock();
  const random = randomOf(seed);
  const servers = ['a', 'b'].map((id) => new RedisServer(clock, id)) as [RedisServer, RedisServer];
  const requests: unknown[] = [];
  const contexts: LockContext[] = [];
  const openOn = (connection: RedisConnection, wakeUp: 'message' | 'poll') => {
    const context = new LockContext(connection, { wakeUp }, clock, random);
    contexts.push(context);
    return context;
  };
  const open = (wakeUp: 'message' | 'poll') => openOn(new Noted(servers[0], requests), wakeUp);
  const nodes = servers.map((server) => new Noted(server, requests));
  const quorum = new QuorumConnection(nodes, { longestLeaseMs, clock });

  const holder = open('message');
  await new LockService(holder).acquire('n');
  const waits = [
    new LockService(open('message')).acquire('n', { waitTimeMs }),
    new LockService(open('poll')).acquire('n', { waitTimeMs }),
    // Only one of its two servers is free.
    new RedLockService(openOn(quorum, 'message'), quorum).acquire('n', { waitTimeMs }),
  ];
  const semaphores = new SemaphoreService(holder);
  await semaphores.get('s').trySetPermits(3);
  await semaphores.get('s').acquire({ permits: 3 });
  await semaphores.counting('c').trySetPermits(1);
  const outcomes = Promise.allSettled(waits);
  await clock.advance(longestLeaseMs);
  await outcomes;
  clock.run();
  await Promise.all(contexts.map((context) => context.close()));
  return requests;
}

describe('A session whose randomness is given', () => {
  it('makes the same ids at the same times again', async () => {
    const requests = await requestsWith('a');
    expect(await requestsWith('a')).toEqual(requests);
    expect(await requestsWith('b')).not.toEqual(requests);
  });
});
