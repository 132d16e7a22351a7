import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Injectable, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createObserveModule } from '@nestjs/observe';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  CronLock,
  CurrentLock,
  LockKey,
  RedisLockModule,
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  WithWriteLock,
} from 'nestjs-redis-lock';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { lastValueFrom, Observable, of } from 'rxjs';
import { eventually, useRealRedis } from '../../support/set-up.js';
import { SILENT, useApplications } from '../applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

const names = () => CurrentLock.lease().name;

@Injectable()
class Stock {
  @WithLock('product_<id>')
  async sell(@LockKey('id') id: string): Promise<string> {
    return `${id} ${names()}`;
  }

  @WithLock('product_<id>')
  watch(@LockKey('id') id: string): Observable<string> {
    return of(`${id} ${names()}`);
  }

  @WithFairLock('fair')
  async fair(): Promise<string> {
    return names();
  }

  @WithReadLock('stock')
  async read(): Promise<string> {
    return names();
  }

  @WithWriteLock('stock')
  async write(): Promise<string> {
    return names();
  }

  @WithSemaphore('gateway', { capacity: 2 })
  async pay(): Promise<string> {
    return names();
  }

  @WithLock(['a', 'b'])
  async both(): Promise<string> {
    return names();
  }

  @WithLock('outer')
  async nested(): Promise<string> {
    return `${await this.fair()} ${await this.sell('1')}`;
  }

  async plain(): Promise<string> {
    return this.nested();
  }
}

/** Its methods fail on a proxy. */
@Injectable()
class PrivateStock {
  readonly #sold: string[] = [];

  @WithLock('product_<id>')
  async sell(@LockKey('id') id: string): Promise<string[]> {
    this.#sold.push(id);
    return this.#sold;
  }
}

@Injectable()
class FrozenStock {
  constructor() {
    Object.freeze(this);
  }

  @WithLock('frozen')
  async sell(): Promise<string> {
    return names();
  }
}

class MadeStock {
  @WithLock('made')
  async sell(): Promise<string> {
    return names();
  }
}

let runs = 0;

@Injectable()
class Jobs {
  @Cron('0 0 1 1 *', { name: 'report' })
  @CronLock('report', { atLeastMs: 10 })
  async report(): Promise<void> {
    runs += 1;
    await Promise.resolve();
  }
}

@Controller('orders')
class Orders {
  constructor(
    private readonly stock: Stock,
    private readonly privately: PrivateStock,
  ) {}

  @Post('service/:id')
  async byService(@Param('id') id: string): Promise<unknown> {
    return [await this.stock.sell(id), await this.stock.plain(), await this.privately.sell(id)];
  }

  @Post('handler/:id')
  @WithLock('product_<id>')
  async byHandler(@Param('id') id: string): Promise<unknown> {
    return [id, names()];
  }

  @Post('interceptor/:id')
  @WithLock('product_<params.id>', { via: 'interceptor' })
  async byInterceptor(@Param('id') id: string): Promise<unknown> {
    return [id, names()];
  }
}

/** Stands in for the service that collects what is observed. */
let collector: Server;
const received: string[] = [];

beforeAll(async () => {
  collector = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.push(gunzipSync(body).toString());
      response.end('{}');
    });
  });
  await once(collector.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  collector.close();
  collector.closeAllConnections();
});

@Module({})
class App {}

/** An application as the README of @nestjs/observe has it. */
async function start() {
  const { ObserveModule, ObserveInstrument } = createObserveModule({ attachTraceIdToLogs: false });
  const { port } = collector.address() as AddressInfo;
  const observe = ObserveModule.forRoot({
    ...{ appKey: 'key', appSecret: 'secret', serviceId: 'shop', flushInterval: 1_000 },
    endpoint: `http://127.0.0.1:${String(port)}`,
  });
  const metadata = {
    module: App,
    imports: [
      observe,
      RedisLockModule.forRoot({ connection: redis.connection }),
      ScheduleModule.forRoot(),
    ],
    controllers: [Orders],
    providers: [
      ...[Stock, PrivateStock, FrozenStock, Jobs],
      { provide: MadeStock, useFactory: () => new MadeStock() },
    ],
  };
  if (ObserveInstrument === undefined) throw new Error('Nest cannot instrument instances');
  return apps.add(await NestFactory.create(metadata, { ...SILENT, instrument: ObserveInstrument }));
}

interface Span {
  /** The class and the method. */
  readonly c: string;
  readonly m: string;
  readonly ch?: readonly Span[];
}

const shown = ({ c, m, ch = [] }: Span): string =>
  [`${c}.${m}`, ...(ch.length === 0 ? [] : [`(${ch.map(shown).join(', ')})`])].join('');

/** The spans of a request, as in `A.outer(B.inner)`. */
function spansOf(path: string): string | undefined {
  const snapshots = received.flatMap(
    (text) => (JSON.parse(text) as { snapshots?: { op: string; t: Span[] }[] }).snapshots ?? [],
  );
  return snapshots
    .find(({ op }) => op === path)
    ?.t.map(shown)
    .join(', ');
}

describe('an application with instrumentation', () => {
  it('acquires the locks of its requests, and has a span of each decorated method', async () => {
    const app = await start();
    const post = async (path: string) =>
      (await app.request(`/orders/${path}`, { method: 'POST' })).json() as Promise<unknown>;
    expect(await post('service/7')).toEqual(['7 product_7', 'fair 1 product_1', ['7']]);
    expect(await post('handler/7')).toEqual(['7', 'product_7']);
    expect(await post('interceptor/7')).toEqual(['7', 'product_7']);

    const lock = 'LockService.using';
    const sell = `Stock.sell(${lock})`;
    const fair = 'Stock.fair(FairLockService.get)';
    // The observed application sends its spans once a second.
    await eventually(() => {
      expect(spansOf('/orders/service/:id')).toBe(
        `Orders.byService(${sell}, Stock.plain(Stock.nested(${lock}(${fair}, ${sell}))), ` +
          `PrivateStock.sell(${lock}))`,
      );
      expect(spansOf('/orders/handler/:id')).toBe(`Orders.byHandler(${lock})`);
      expect(spansOf('/orders/interceptor/:id')).toBe(
        `LockInterceptor.intercept, ${lock}(Orders.byInterceptor)`,
      );
    });
  });

  it('acquires every kind of lock, in objects of every kind', async () => {
    const { nest } = await start();
    const stock = nest.get(Stock);
    expect(await lastValueFrom(stock.watch('3'))).toBe('3 product_3');
    const calls = [stock.fair(), stock.read(), stock.write(), stock.pay(), stock.both()];
    expect(await Promise.all(calls)).toEqual(['fair', 'stock', 'stock', 'gateway', 'a, b']);
    expect(await nest.get(FrozenStock).sell()).toBe('frozen');
    expect(await nest.get(MadeStock).sell()).toBe('made');
    expect(await nest.get(PrivateStock).sell('7')).toEqual(['7']);

    for (const job of nest.get(SchedulerRegistry).getCronJobs().values()) void job.fireOnTick();
    await eventually(() => runs === 1);
  });
});
