import { describe, expect, it } from '@jest/globals';
import { BullModule, getQueueToken, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { DelayedError, type Job, type Queue } from 'bullmq';
import { CurrentLock, WithLock } from 'nestjs-redis-lock';
import { eventually, redisson, useRedis } from '../../support/set-up.js';
import { useApplications } from '../applications.js';

const redis = useRedis();
const apps = useApplications(redis);

describe('a processor of BullMQ', () => {
  interface Order {
    readonly product: string;
  }

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

describe('a listener of the event emitter', () => {
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
