import { describe, expect, it } from '@jest/globals';
import { status, type ServiceError } from '@grpc/grpc-js';
import { Controller, Module, UseFilters } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GrpcMethod, GrpcStreamMethod } from '@nestjs/microservices';
import {
  CurrentLock,
  LeaseLostError,
  LockBackendError,
  LockExceptionFilter,
  LockKey,
  LockKeyError,
  LockLimitError,
  LockMonitor,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  RedisLockModule,
  WithLock,
  type LockError,
} from 'nestjs-redis-lock';
import {
  EMPTY,
  lastValueFrom,
  map,
  mergeMap,
  Observable,
  of,
  reduce,
  throwError,
  toArray,
} from 'rxjs';
import { serveGrpc, type Item } from '../../support/grpc.js';
import { eventually, useRealRedis } from '../../support/set-up.js';
import { SILENT, useApplications } from '../applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

@Controller()
class Shop {
  @GrpcMethod('Shop', 'sell')
  @WithLock('product_<item.id>')
  async sell(@LockKey('item') item: Item): Promise<{ text: string }> {
    return { text: `${CurrentLock.lease().name} ${String(item.id)}` };
  }

  @GrpcMethod('Shop', 'watch')
  @WithLock('product_<item.id>')
  watch(@LockKey('item') item: Item): Observable<{ text: string }> {
    return of(item.id, item.id + 1).pipe(
      map((id) => ({ text: `${CurrentLock.lease().name} ${String(id)}` })),
    );
  }

  @GrpcStreamMethod('Shop', 'plain')
  async plain(items: Observable<Item>): Promise<Observable<{ text: string }>> {
    return items.pipe(map(({ id }) => ({ text: String(id) })));
  }
}

type Text = Readonly<{ text: string }>;

const textOf = ({ id }: Item): Text => ({ text: String(id) });

/** The lease and the number of each message, in one answer. */
const listed = (items: Observable<Item>): Observable<Text> =>
  items.pipe(
    map(({ id }) => `${CurrentLock.lease().name} ${String(id)}`),
    reduce((text, item) => `${text}|${item}`),
    map((text) => ({ text })),
  );

/** Each reads a stream of messages under a lock. */
@Controller()
class Streams {
  unread: Observable<Item> = EMPTY;

  @GrpcStreamMethod('Shop', 'inside')
  @WithLock('stock')
  inside(items: Observable<Item>): Observable<Text> {
    return listed(items);
  }

  @WithLock('stock')
  @GrpcStreamMethod('Shop', 'outside')
  outside(items: Observable<Item>): Observable<Text> {
    return listed(items);
  }

  @GrpcStreamMethod('Shop', 'promised')
  @WithLock('stock')
  async promised(items: Observable<Item>): Promise<Observable<Text>> {
    return listed(items);
  }

  @GrpcStreamMethod('Shop', 'awaited')
  @WithLock('stock')
  async awaited(items: Observable<Item>): Promise<Text> {
    return lastValueFrom(listed(items));
  }

  @GrpcStreamMethod('Shop', 'intercepted')
  @WithLock(() => 'stock', { via: 'interceptor' })
  intercepted(items: Observable<Item>): Observable<Text> {
    return listed(items);
  }

  @GrpcStreamMethod('Shop', 'awaitedIntercepted')
  @WithLock(() => 'stock', { via: 'interceptor' })
  async awaitedIntercepted(items: Observable<Item>): Promise<Text> {
    return lastValueFrom(listed(items));
  }

  @GrpcStreamMethod('Shop', 'busy')
  @WithLock('stock', {
    waitTimeMs: 0,
    onBusy: ([items]: [Observable<Item>]) => items.pipe(map(textOf)),
  })
  busy(items: Observable<Item>): Observable<Text> {
    return listed(items);
  }

  @GrpcStreamMethod('Shop', 'forgotten')
  @WithLock('stock')
  async forgotten(items: Observable<Item>): Promise<Text> {
    this.unread = items;
    return { text: 'read nothing' };
  }
}

/** Answers the errors of every kind of method: with one message, or a stream, on each side. */
@Controller()
@UseFilters(LockExceptionFilter)
class Answers {
  @GrpcMethod('Shop', 'unary')
  async unary({ id }: Item): Promise<{ text: string }> {
    return Promise.reject(errors(id));
  }

  @GrpcMethod('Shop', 'answers')
  answers({ id }: Item): Observable<{ text: string }> {
    return throwError(() => errors(id));
  }

  @GrpcStreamMethod('Shop', 'streams')
  streams(items: Observable<Item>): Observable<{ text: string }> {
    return items.pipe(mergeMap(({ id }) => throwError(() => errors(id))));
  }
}

const broken = { retryable: true, outcome: 'none' } as const;

/** Each error, with the status of its call and the wait in the metadata (ms). */
const ERRORS: readonly [error: LockError, code: status, retryAfterMs: number | undefined][] = [
  [new LockTimeoutError('s3cret', { waitedMs: 1, retryAfterMs: 250 }), status.ABORTED, 250],
  [new LockTimeoutError('s3cret', { waitedMs: 1, retryAfterMs: 9e9 }), status.ABORTED, 1_000],
  [new LockKeyError('s3cret'), status.INVALID_ARGUMENT, undefined],
  [new LockBackendError('s3cret', broken), status.UNAVAILABLE, 5_000],
  [new LockShutdownError('s3cret'), status.UNAVAILABLE, 1_000],
  [new LockLimitError('s3cret', 'maxKeys', 5), status.RESOURCE_EXHAUSTED, 1_000],
  [new LeaseLostError('s3cret', 'gone'), status.INTERNAL, undefined],
];

function errors(id: number): LockError {
  return ERRORS[id]?.[0] ?? new LockStateError('no such error');
}

@Module({})
class App {}

async function start() {
  const metadata = {
    module: App,
    imports: [RedisLockModule.forRoot({ connection: redis.connection })],
    controllers: [Shop, Streams, Answers],
  };
  const nest = await NestFactory.create(metadata, SILENT);
  const client = await serveGrpc(nest, {
    ...{ sell: 'neither', watch: 'server', plain: 'both' },
    ...{ unary: 'neither', answers: 'server', streams: 'both' },
    ...{ inside: 'both', outside: 'client', promised: 'client', awaited: 'client' },
    ...{ intercepted: 'client', awaitedIntercepted: 'both', busy: 'both', forgotten: 'client' },
  });
  const app = await apps.add(nest);
  return { app, client };
}

describe('a microservice over gRPC', () => {
  it('takes locks for unary methods and for streams of answers', async () => {
    const { client } = await start();
    expect(await client.call('sell', [{ id: 7 }])).toEqual(['product_7 7']);
    expect(await client.call('watch', [{ id: 7 }])).toEqual(['product_7 7', 'product_7 8']);
    expect(await client.call('plain', [{ id: 7 }, { id: 8 }])).toEqual(['7', '8']);
  });

  it.each(['inside', 'outside', 'promised', 'awaited', 'intercepted', 'awaitedIntercepted'])(
    'reads every message of a stream under the lock, from before the grant and after it: %s',
    async (method) => {
      const { app, client } = await start();
      const sent = [{ id: 1 }, { id: 2 }, { id: 3 }];
      const read = ['stock 1|stock 2|stock 3'];
      expect(await client.call(method, sent)).toEqual(read);

      const lease = await app.locks.acquire('stock');
      const whileBusy = async function* () {
        yield { id: 1 };
        await eventually(() => app.nest.get(LockMonitor).status().waiting === 1);
        yield { id: 2 };
        await lease.release();
        yield { id: 3 };
      };
      expect(await client.call(method, whileBusy())).toEqual(read);
    },
  );

  it('gives the messages of a stream to the handler of a busy lock', async () => {
    const { app, client } = await start();
    await app.locks.using('stock', async () => {
      expect(await client.call('busy', [{ id: 1 }, { id: 2 }])).toEqual(['1', '2']);
    });
  });

  it('keeps no message of a call that has ended', async () => {
    const { app, client } = await start();
    expect(await client.call('forgotten', [{ id: 1 }, { id: 2 }])).toEqual(['read nothing']);
    const { unread } = app.nest.get(Streams);
    expect(await lastValueFrom(unread.pipe(toArray()))).toEqual([]);
  });

  it.each(['unary', 'answers', 'streams'])(
    'answers errors with the statuses of gRPC: %s',
    async (method) => {
      const { client } = await start();
      for (const [id, [error, code, retryAfterMs]] of ERRORS.entries()) {
        const failed = await client.call(method, [{ id }]).catch((thrown: unknown) => thrown);
        const { details, metadata } = failed as ServiceError;
        expect(failed).toMatchObject({ code });
        expect(details).not.toContain('s3cret');
        expect(metadata.get('lock-error')).toEqual([error.code]);
        const wait = retryAfterMs === undefined ? [] : [String(retryAfterMs)];
        expect(metadata.get('retry-after-ms')).toEqual(wait);
      }
    },
  );
});
