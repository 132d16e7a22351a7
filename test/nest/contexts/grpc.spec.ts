import { describe, expect, it } from '@jest/globals';
import { Controller, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GrpcMethod, GrpcStreamMethod } from '@nestjs/microservices';
import { CurrentLock, LockKey, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { Observable, of, map } from 'rxjs';
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

@Module({})
class App {}

async function start() {
  const metadata = {
    module: App,
    imports: [RedisLockModule.forRoot({ connection: redis.url })],
    controllers: [Shop],
  };
  const nest = await NestFactory.create(metadata, SILENT);
  const client = await serveGrpc(nest, { sell: 'neither', watch: 'server', plain: 'both' });
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
});
