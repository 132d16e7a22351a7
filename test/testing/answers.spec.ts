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

describe('the server of nestjs-redis-lock/testing', () => {
  it('answers every script of the library', async () => {
    const all = await declaredScripts(({ pathname }) => import(pathname));
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter((script) => !ANSWERS.has(script)).map(({ name }) => name)).toEqual([]);
  });

  it('says so if it cannot answer one', async () => {
    const connection = new InProcessConnection(new InProcessServer(systemClock));
    const script = defineScript({ name: 'x.y', keys: [], args: [], body: '', reply: () => 1 });
    await expect(connection.run(script, [], [])).rejects.toThrow(
      new LockStateError('Without Redis nobody answers the script x.y'),
    );
  });
});
