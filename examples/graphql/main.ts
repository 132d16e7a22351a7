import 'reflect-metadata';

import { Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { Args, GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LockExceptionFilter, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { setTimeout as pause } from 'node:timers/promises';

@Resolver()
class ProductResolver {
  @Query(() => String)
  shop(): string {
    return 'open';
  }

  @Mutation(() => String)
  @WithLock('product_<id>', { waitTimeMs: 500 }) // waits for half a second, then rejects
  async buy(@Args('id') id: string): Promise<string> {
    console.log(`product ${id}: an order begins`);
    await pause(3_000); // your work
    console.log(`product ${id}: the order ends`);
    return `sold one of product ${id}`;
  }
}

@Module({
  imports: [
    GraphQLModule.forRoot<MercuriusDriverConfig>({ driver: MercuriusDriver, autoSchemaFile: true }),
    RedisLockModule.forRoot({ connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
  ],
  providers: [
    ProductResolver,
    { provide: APP_FILTER, useClass: LockExceptionFilter }, // code and retryAfterMs in the error
  ],
})
class AppModule {}

const app = await NestFactory.create(AppModule, new FastifyAdapter(), {
  logger: ['error', 'warn'],
});
app.enableShutdownHooks(); // SIGTERM releases the locks
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`listens on ${await app.getUrl()}`);
