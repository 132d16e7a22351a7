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
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  RedisLockModule,
  WithLock,
  type LockError,
} from 'nestjs-redis-lock';
import { map, mergeMap, Observable, of, throwError } from 'rxjs';
import { serveGrpc, type Item } from '../../support/grpc.js';
import { useRedis } from '../../support/set-up.js';
import { SILENT, useApplications } from '../applications.js';

const redis = useRedis();
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
    imports: [RedisLockModule.forRoot({ connection: redis.url })],
    controllers: [Shop, Answers],
  };
  const nest = await NestFactory.create(metadata, SILENT);
  const client = await serveGrpc(nest, {
    ...{ sell: 'neither', watch: 'server', plain: 'both' },
    ...{ unary: 'neither', answers: 'server', streams: 'both' },
  });
  await apps.add(nest);
  return client;
}

describe('a microservice over gRPC', () => {
  it('takes locks for unary methods and for streams of answers', async () => {
    const client = await start();
    expect(await client.call('sell', [{ id: 7 }])).toEqual(['product_7 7']);
    expect(await client.call('watch', [{ id: 7 }])).toEqual(['product_7 7', 'product_7 8']);
    expect(await client.call('plain', [{ id: 7 }, { id: 8 }])).toEqual(['7', '8']);
  });

  it.each(['unary', 'answers', 'streams'])(
    'answers errors with the statuses of gRPC: %s',
    async (method) => {
      const client = await start();
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
