import { describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { DelayedError, type Job, type Queue } from 'bullmq';
import {
  CurrentLock,
  InjectLock,
  LockKey,
  LockNestingError,
  RedisLockModule,
  WithLock,
  type LockTemplate,
} from 'nestjs-redis-lock';
import { eventually, Gate, redisson, useRealRedis } from '../../support/set-up.js';
import { pageOf } from '../../support/proofs.js';
import { useApplications } from '../applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

interface Order {
  readonly product: string;
}

describe('a processor of BullMQ', () => {
  let delays = 0;

  @Processor('patient')
  class Patient extends WorkerHost {
    @WithLock((job: Job<Order>) => `product_${job.data.product}`, {
      waitTimeMs: 0,
      onBusy: async ([job, token]) => {
        delays += 1;
        await job.moveToDelayed(Date.now() + 10, token as string);
        throw new DelayedError();
      },
    })
    async process(job: Job<Order>, token?: string): Promise<string> {
      return CurrentLock.lease().name;
    }
  }

  @Processor('plain')
  class Plain extends WorkerHost {
    @WithLock('product_<0.data.product>', { waitTimeMs: 0 })
    async process(job: Job<Order>): Promise<string> {
      return CurrentLock.lease().name;
    }
  }

  const imports = () => [
    BullModule.forRoot({
      connection: { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null },
    }),
    BullModule.registerQueue({ name: 'patient' }, { name: 'plain' }),
  ];

  it('delays a busy job, which uses up no attempt; without onBusy the job fails', async () => {
    const app = await apps.start({ imports: imports(), providers: [Patient, Plain] });
    const stateOf = async (queue: Queue, id = '') => queue.getJobState(id);
    const [patient, plain] = ['patient', 'plain'].map((name) =>
      app.nest.get<Queue>(getQueueToken(name)),
    ) as [Queue, Queue];
    await redisson.tryLock(redis.admin, 'product_7', 60_000);

    const failing = await plain.add('order', { product: '7' }, { attempts: 1 });
    await eventually(async () => (await stateOf(plain, failing.id)) === 'failed');

    const { id } = await patient.add('order', { product: '7' }, { attempts: 1 });
    await eventually(() => delays >= 2);
    await redisson.unlock(redis.admin, 'product_7');
    await eventually(async () => (await stateOf(patient, id)) === 'completed');
    expect(await patient.getJob(id ?? '')).toMatchObject({
      returnvalue: 'product_7',
      attemptsMade: 1,
    });
  });
});

describe('the recipe for BullMQ', () => {
  it('delays hardly any job of a product whose jobs are short: each release hands the lock on', async () => {
    const [, waits] = /## BullMQ[^]*?waitTimeMs: ([\d_]+)/.exec(pageOf('docs/in-nest.md')) ?? [];
    let [done, delays] = [0, 0];

    @Processor('short', { concurrency: 5 })
    class Short extends WorkerHost {
      @WithLock((job: Job<Order>) => `product_${job.data.product}`, {
        waitTimeMs: Number(waits?.replace('_', '')),
        onBusy: async ([job, token]) => {
          delays += 1;
          await job.moveToDelayed(Date.now() + 10, token as string);
          throw new DelayedError();
        },
      })
      async process(_: Job<Order>, _token?: string): Promise<void> {
        await redis.admin.ping();
        done += 1;
      }
    }
    const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
    const imports = [
      BullModule.forRoot({ connection }),
      BullModule.registerQueue({ name: 'short' }),
    ];
    const app = await apps.start({ imports, providers: [Short] });
    const jobs = Array.from({ length: 20 }, () => ({ name: 'order', data: { product: '7' } }));
    await app.nest.get<Queue>(getQueueToken('short')).addBulk(jobs);
    await eventually(() => done === jobs.length);
    // A busy machine may keep a job waiting for longer than that.
    expect(delays).toBeLessThan(jobs.length);
  });
});

describe('a listener of the event emitter', () => {
  it('that emit() starts inside of a hold waits for its end with nesting "wait"', async () => {
    const order: string[] = [];
    const done = new Gate();
    @Injectable()
    class Orders {
      constructor(
        @InjectLock('orders') readonly orders: LockTemplate<'order_<id>'>,
        readonly emitter: EventEmitter2,
      ) {}

      @WithLock('order_<id>')
      async pay(@LockKey('id') id: string): Promise<void> {
        this.emitter.emit('order.paid', { id });
        await this.orders.get({ id }).using(() => undefined, { nesting: 'join' });
        const nested = this.orders.get({ id }).acquire();
        await expect(nested).rejects.toBeInstanceOf(LockNestingError);
        await eventually(() => expect(order).toEqual(['joined']));
        order.push('paid');
      }

      @OnEvent('order.paid')
      @WithLock('order_<id>')
      async joined(_: { id: string }): Promise<void> {
        order.push('joined');
      }

      @OnEvent('order.paid')
      @WithLock('order_<id>', { nesting: 'wait' })
      async waited(_: { id: string }): Promise<void> {
        order.push('waited');
        done.open();
      }
    }
    const template = { name: 'orders', key: 'order_<id>', nesting: 'refuse' } as const;
    const imports = [EventEmitterModule.forRoot(), RedisLockModule.forFeature([template])];
    const app = await apps.start({ imports, providers: [Orders] });
    await app.nest.get(Orders).pay('7');
    await done.opened;
    expect(order).toEqual(['joined', 'paid', 'waited']);
  });

  it('takes its lock in both orders, and a busy one is skipped or its error is logged', async () => {
    @Injectable()
    class Listeners {
      @WithLock('order_<id>')
      @OnEvent('order.made')
      async above(order: { id: string }): Promise<string> {
        return `above ${CurrentLock.lease().name}`;
      }

      @OnEvent('order.made')
      @WithLock('order_<id>')
      async below(order: { id: string }): Promise<string> {
        return `below ${CurrentLock.lease().name}`;
      }

      @OnEvent('order.busy')
      @WithLock('busy', { waitTimeMs: 0, onBusy: 'skip' })
      async skipped(): Promise<string | undefined> {
        return 'ran';
      }

      @OnEvent('order.busy', { suppressErrors: false })
      @WithLock('free', { waitTimeMs: 0 })
      async free(): Promise<string> {
        return 'ran';
      }
    }
    const imports = [EventEmitterModule.forRoot()];
    const app = await apps.start({ imports, providers: [Listeners] });
    const emitter = app.nest.get(EventEmitter2);
    const answers = (await emitter.emitAsync('order.made', { id: '7' })) as string[];
    expect(answers.sort()).toEqual(['above order_7', 'below order_7']);
    await redisson.tryLock(redis.admin, 'busy');
    expect(await emitter.emitAsync('order.busy', {})).toEqual([undefined, 'ran']);
    await redisson.tryLock(redis.admin, 'free');
    await expect(emitter.emitAsync('order.busy', {})).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
  });
});
