import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module, type ExecutionContext } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import {
  Args,
  Field,
  GqlExecutionContext,
  GraphQLModule,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import type { MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  CurrentLock,
  LockConfigurationError,
  LockExceptionFilter,
  RedisLockModule,
  WithLock,
} from 'nestjs-redis-lock';
import { redisson, Section, useRealRedis } from '../../support/set-up.js';
import { SILENT, useApplications } from '../applications.js';

// The files of its web page: Jest cannot load them on Node 20, and no spec asks for the page.
jest.mock('@fastify/static', () => ({}));
const { MercuriusDriver } = await import('@nestjs/mercurius');

const redis = useRealRedis();
const apps = useApplications(redis);

const argsOf = (context: ExecutionContext) =>
  GqlExecutionContext.create(context).getArgs<{ id: number }>();

const section = new Section();

@Resolver()
class Products {
  @Query(() => String)
  @WithLock('product_<id>')
  async product(@Args('id', { type: () => Int }) id: number): Promise<string> {
    return section.run(async () => {
      await redis.admin.ping();
      return `${CurrentLock.lease().name} ${String(CurrentLock.lease().holdCount)}`;
    });
  }

  @WithLock((context: ExecutionContext) => `product_${String(argsOf(context).id)}`, {
    via: 'interceptor',
  })
  @Mutation(() => String)
  async buy(@Args('id', { type: () => Int }) id: number): Promise<string> {
    return CurrentLock.lease().name;
  }

  @Query(() => String, { nullable: true })
  @WithLock('busy_<id>', { waitTimeMs: 0 })
  async busy(@Args('id', { type: () => Int }) id: number): Promise<string> {
    return String(id);
  }
}

@ObjectType()
class Shop {
  @Field(() => String)
  name!: string;
}

@Resolver(() => Shop)
class Shops {
  @Query(() => Shop)
  shop(): Shop {
    return { name: 'north' };
  }

  @ResolveField(() => String)
  @WithLock('stock_<0.name>')
  async stock(@Parent() shop: Shop): Promise<string> {
    return CurrentLock.lease().name;
  }
}

@Module({})
class App {}

async function start(...resolvers: (new () => object)[]) {
  const graphql = GraphQLModule.forRoot<MercuriusDriverConfig>({
    driver: MercuriusDriver,
    autoSchemaFile: true,
  });
  const metadata = {
    module: App,
    imports: [RedisLockModule.forRoot({ connection: redis.connection }), graphql],
    providers: [...resolvers, { provide: APP_FILTER, useClass: LockExceptionFilter }],
  };
  const app = await apps.add(await NestFactory.create(metadata, new FastifyAdapter(), SILENT));
  return async (query: string) => {
    const response = await app.request('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await response.json()) as { data?: unknown; errors?: { message: string }[] };
  };
}

describe('a resolver', () => {
  it('takes a lock for each field: those of one request are owners of their own', async () => {
    const ask = await start(Products, Shops);
    expect(await ask('{ a: product(id: 7) b: product(id: 7) c: product(id: 8) }')).toEqual({
      data: { a: 'product_7 1', b: 'product_7 1', c: 'product_8 1' },
    });
    expect(section.entries).toBe(3);
    expect(section.most).toBeLessThanOrEqual(2);
    expect(await ask('{ shop { stock } }')).toEqual({ data: { shop: { stock: 'stock_north' } } });
    // Via the interceptor, by a function of the context.
    expect(await ask('mutation { buy(id: 7) }')).toEqual({ data: { buy: 'product_7' } });
  });

  it('answers a busy field with an error, and the others as ever', async () => {
    const ask = await start(Products);
    await redisson.tryLock(redis.admin, 'busy_7');
    expect(await ask('{ a: busy(id: 7) b: busy(id: 8) }')).toEqual({
      data: { a: null, b: '8' },
      errors: [
        expect.objectContaining({
          path: ['a'],
          message: 'Another request is using this; try again later',
          extensions: { code: 'LOCK_TIMEOUT', retryAfterMs: expect.any(Number) },
        }),
      ],
    });
  });

  it('is refused where the interceptors of Nest do not run: for the fields of an object', async () => {
    @Injectable()
    @Resolver(() => String)
    class Fields {
      @ResolveField(() => String)
      @WithLock('product', { via: 'interceptor' })
      async stock(): Promise<string> {
        return '';
      }
    }
    await expect(start(Fields)).rejects.toThrow(LockConfigurationError);
  });
});
