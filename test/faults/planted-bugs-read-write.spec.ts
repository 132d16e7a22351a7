import {
  READ_ACQUIRE,
  READ_RELEASE,
  READ_RENEW,
} from '../../libs/redis-lock/src/primitives/read-write-lock/read-lock.scripts.js';
import {
  ReadWriteLockService,
  type ReadWriteLock,
} from '../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import { WRITE_RELEASE } from '../../libs/redis-lock/src/primitives/read-write-lock/write-release.scripts.js';
import { eventually } from '../support/eventually.js';
import { demand, type Lab, ROUND_TRIP_MS, within } from './support/lab.js';
import { script } from './support/planted.js';
import { describeCases } from './support/planted-cases.js';

const NAME = 'price_1';

function lockIn(lab: Lab, settings = {}): ReadWriteLock {
  return new ReadWriteLockService(lab.open(lab.redis.url, { settings }).context).get(NAME);
}

/** The owner gives the inner one of two nested holds back; then a writer that must not get in tries. */
const endNested = async (lab: Lab) => {
  const lock = lockIn(lab).read;
  await lock.using(async () => {
    await lock.using(() => undefined);
    const other = await lockIn(lab).write.tryAcquire();
    demand(other === null, 'a writer got in');
  });
};

const nestLonger = async (lab: Lab) => {
  const lock = lockIn(lab).read;
  await lock.using(
    () =>
      lock.using(
        async (lease) => {
          demand(lease.remainingMs > 30_000, 'the lease is not what was asked for');
          const pttl = await lab.redis.admin.pttl(NAME);
          demand(pttl >= lease.remainingMs, `Redis lets others in in ${String(pttl)} ms`);
        },
        { leaseTimeMs: 60_000 },
      ),
    { leaseTimeMs: 5_000 },
  );
};

describeCases([
  {
    situation: 'a nested read that is released',
    workload: endNested,
    planted: {
      'a release deletes instead of counting': script(
        READ_RELEASE,
        'if holdCount > 0 then',
        'if false then',
      ),
    },
  },
  {
    situation: 'a nested read with a longer lease',
    workload: nestLonger,
    planted: {
      'an entry of a reader sets no TTL': script(
        READ_ACQUIRE,
        'if left < tonumber(leaseMs) then',
        'if not mode then',
      ),
    },
  },
  {
    situation: 'a reader with a long lease beside one that is renewed',
    workload: async (lab) => {
      const long = await lockIn(lab).read.acquire({ leaseTimeMs: 60_000 });
      await lockIn(lab, { leaseTimeMs: 300 }).read.using((lease) => lease.renew());
      const short = await lockIn(lab).read.acquire({ leaseTimeMs: 10_000 });
      await short.renew();
      const pttl = await lab.redis.admin.pttl(NAME);
      demand(pttl >= long.remainingMs, `Redis lets others in in ${String(pttl)} ms`);
    },
    planted: {
      'the renewal of a reader shortens': script(
        READ_RENEW,
        ` and redis.call('pttl', lock) < leaseMs`,
        '',
      ),
    },
  },
  {
    situation: 'a reader that waits for a writer who goes on reading',
    workload: async (lab) => {
      const { read, write } = lockIn(lab);
      let waiting: Promise<unknown> | undefined;
      const reading = await write.using(async () => {
        waiting = lockIn(lab, { pollIntervalMs: 60_000 })
          .read.acquire({ waitTimeMs: 60_000 })
          .then((lease) => lease.release());
        const { admin } = lab.redis;
        await eventually(async () => (await admin.pubsub('CHANNELS')).length > 0);
        const asked = async () => (await lab.redis.commandStats()).zadd ?? 0;
        // Once at first, and once when it listens.
        await eventually(async () => (await asked()) >= 2);
        return read.acquire();
      });
      await within(5 * ROUND_TRIP_MS, waiting ?? Promise.resolve(), 'the reader gets in');
      await reading.release();
    },
    planted: {
      'a downgrade is not announced': script(
        WRITE_RELEASE,
        `if isForReaders(letGo(field)) then`,
        `if isForReaders(letGo(field)) then do return 'done' end`,
      ),
    },
  },
  {
    situation: 'readers that take turns to be there all the time',
    workload: async (lab) => {
      const writing = lockIn(lab).write;
      let present = await lockIn(lab).read.acquire();
      const isIn = writing.acquire({ waitTimeMs: 60_000 });
      isIn.catch(() => undefined);
      await eventually(async () => (await lab.redis.admin.keys('nestjs_*')).length > 0);
      const next = lockIn(lab).read;
      for (let round = 0; round < 5; round += 1) {
        const successor = await next.tryAcquire();
        demand(successor === null, 'a reader got in before the writer that waited');
        if (successor !== null) present = successor;
      }
      await present.release();
      await within(5 * ROUND_TRIP_MS, isIn, 'the writer gets in');
    },
    planted: {
      'no reader looks for the mark of a writer': script(
        READ_ACQUIRE,
        'isAwaited(writers) and',
        'false and',
      ),
    },
  },
]);
