import { describe, expect, it } from '@jest/globals';
import { LockStateError } from 'nestjs-redis-lock';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { defineScript } from '../../libs/redis-lock/src/core/redis/script.js';
import {
  ANSWERS,
  InProcessConnection,
} from '../../libs/redis-lock/src/testing/in-process-connection.js';
import { InProcessServer } from '../../libs/redis-lock/src/testing/in-process-server.js';
import { declaredScripts } from '../../scripts/library/scripts.mjs';

/** No slot is ever on its way there, for which they are. */
const MOVING = [
  ...['fencing-token.take', 'read-lock.acquire-alone', 'read-lock.inspect-alone'],
  ...['read-lock.lease-alone', 'read-lock.renew-alone', 'read-write-lock.release-alone'],
  ...['semaphore.end', 'write-lock.acquire-alone'],
];

describe('the server of nestjs-redis-lock/testing', () => {
  it('answers every script of the library, but those for a slot that is on its way', async () => {
    const all = await declaredScripts(({ pathname }) => import(pathname));
    expect(all.length).toBeGreaterThan(40);
    const unanswered = all.filter((script) => !ANSWERS.has(script)).map(({ name }) => name);
    expect(unanswered.sort()).toEqual(MOVING);
  });

  it('says so if it cannot answer one', async () => {
    const connection = new InProcessConnection(new InProcessServer(systemClock));
    const script = defineScript({ name: 'x.y', keys: [], args: [], body: '', reply: () => 1 });
    await expect(connection.run(script, [], [])).rejects.toThrow(
      new LockStateError('Without Redis the script x.y has no answer'),
    );
  });
});
