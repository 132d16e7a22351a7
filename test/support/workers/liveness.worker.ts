import { LockContext } from '../../../libs/redis-lock/src/core/lock-context.js';
import { systemClock } from '../../../libs/redis-lock/src/core/time/clock.js';
import { LockService } from '../../../libs/redis-lock/src/primitives/lock/lock-service.js';
import { InProcessConnection } from '../../../libs/redis-lock/src/testing/server/in-process-connection.js';
import { RedisServer } from '../../../libs/redis-lock/src/testing/server/redis-server.js';
import { serve } from '../worker.js';

// Without sockets: timers alone keep this process alive.
const server = new RedisServer(systemClock);
const connection = new InProcessConnection(server);
const locks = new LockService(new LockContext(connection));
const rivals = new LockService(new LockContext(new InProcessConnection(server)));

/** A process that has lived through a wait writes this. */
const tell = () => {
  process.stderr.write('over');
};

const api = {
  async hold(): Promise<void> {
    await locks.acquire('another');
  },

  async waitForOthers(waitTimeMs: number): Promise<void> {
    await rivals.acquire('held');
    void locks.tryAcquire('held', { waitTimeMs }).then(tell);
  },

  /** The answer comes after this time; its timer keeps no process alive. */
  waitForAnswer(answerMs: number): void {
    const run = connection.run.bind(connection);
    connection.run = async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, answerMs).unref());
      return run(...call);
    };
    void locks.acquire('free', { waitTimeMs: Infinity }).then(tell);
  },

  /** Inside of a hold, behind a nested one. */
  waitForTurn(waitTimeMs: number): void {
    void locks.using('held', async () => {
      await locks.acquire('held');
      await locks.tryAcquire('held', { waitTimeMs });
      tell();
      await new Promise(() => undefined);
    });
  },

  /** For as long as the library waits for an answer. */
  async waitForRelease(): Promise<void> {
    const lease = await locks.acquire('held');
    connection.run = () => new Promise(() => undefined);
    void lease.release().catch(tell);
  },
};
export type Api = typeof api;
serve(api);
