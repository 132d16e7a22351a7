import { describe } from '@jest/globals';
import {
  FairLockService,
  LatchService,
  LockService,
  ReadWriteLockService,
  RedLockService,
  SemaphoreService,
} from 'nestjs-redis-lock';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { QuorumConnection } from '../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { describeCountingBehaviour } from '../contract/counting.contract.js';
import { describeFairness } from '../contract/fairness.contract.js';
import { describeLatchBehaviour } from '../contract/latch.contract.js';
import {
  describeLockBehaviour,
  describeRedLockBehaviour,
  describeSharedLockBehaviour,
} from '../contract/lock.contract.js';
import { describeMultiBehaviour, multiOf } from '../contract/multi-lock.contract.js';
import { describePermitBehaviour } from '../contract/permits.contract.js';
import { describeReadWriteBehaviour } from '../contract/read-write.contract.js';
import { sidesOf } from '../read-write-lock/sides.js';
import { InProcessStage, useInProcessLocks } from '../support/in-process-stage.js';
import { useVirtualTime } from '../support/virtual-time.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** The locks of nestjs-redis-lock/testing pass the contract of locks on Redis. */
describe('without Redis', () => {
  useVirtualTime();
  const redis = new InProcessStage();
  const { stall } = redis;

  describe('LockService', () => {
    const open = useInProcessLocks(redis, (context) => new LockService(context));
    describeLockBehaviour({ redis, open, stall });
  });

  describe('LockService.multi', () => {
    const open = useInProcessLocks(redis, multiOf);
    describeMultiBehaviour({ redis, open, stall });
  });

  describe('FairLockService', () => {
    const open = useInProcessLocks(redis, (context) => new FairLockService(context));
    describeLockBehaviour({ redis, open, stall });
    describeFairness({ redis, open });
  });

  describe('ReadWriteLockService', () => {
    const open = useInProcessLocks(redis, (context) => new ReadWriteLockService(context));
    const { openRead, openWrite } = sidesOf(open);

    describe('both sides', () => {
      describeReadWriteBehaviour({ redis, open });
    });

    describe('the read side', () => {
      describeSharedLockBehaviour({ redis, open: openRead, openRival: openWrite, stall });
    });
    describe('the write side', () => {
      describeLockBehaviour({ redis, open: openWrite, stall });
    });
  });

  describe('SemaphoreService', () => {
    const open = useInProcessLocks(redis, (context) => new SemaphoreService(context));
    describePermitBehaviour({ redis, open });
  });

  describe('SemaphoreService.counting', () => {
    const open = useInProcessLocks(redis, (context) => new CountingSemaphores(context));
    describeCountingBehaviour({ redis, open });
  });

  describe('LatchService', () => {
    const open = useInProcessLocks(redis, (context) => new LatchService(context));
    describeLatchBehaviour({ redis, open });
  });

  describe('RedLockService', () => {
    const open = useInProcessLocks(
      redis,
      (context) => new RedLockService(context, context.connection as QuorumConnection),
      (node, clock) => new QuorumConnection([node], { longestLeaseMs: DAY_MS, clock }),
    );
    describeRedLockBehaviour({ redis, open, isHeardInTime: true, stall });
  });
});
