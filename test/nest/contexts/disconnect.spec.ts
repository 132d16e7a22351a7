import { describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Injectable, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Args, GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import type { MercuriusDriverConfig } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { LockKey, LockMonitor, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { Observable, of } from 'rxjs';
import { eventually, useRealRedis } from '../../support/set-up.js';
import { useApplications } from '../applications.js';

// The files of its web page: Jest cannot load them on Node 20, and no spec asks for the page.
jest.mock('@fastify/static', () => ({}));
const { MercuriusDriver } = await import('@nestjs/mercurius');

const redis = useRealRedis();
const apps = useApplications(redis);

const MINUTE = { waitTimeMs: 60_000 } as const;

let runs: string[] = [];

function run(name: string): string {
  runs.push(name);
  return name;
}

@Injectable()
class Stock {
  @WithLock('a', MINUTE)
  async take(): Promise<string> {
    return run('inner');
  }

  @WithLock('free_<id>')
  async look(@LockKey('id') id: string): Promise<string> {
    return id;
  }
}

@Controller()
class Shop {
  constructor(private readonly stock: Stock) {}

  @Get('method')
  @WithLock('a', MINUTE)
  async method(): Promise<string> {
    return run('method');
  }

  @WithLock('a', MINUTE)
  @Get('below')
  async below(): Promise<string> {
    return run('below');
  }

  @Get('twice/:id')
  @WithLock('free_<id>')
  @WithLock('a', MINUTE)
  async twice(@Param('id') id: string): Promise<string> {
    return run(id);
  }

  @Get('interceptor')
  @WithLock('a', { ...MINUTE, via: 'interceptor' })
  async interceptor(): Promise<string> {
    return run('interceptor');
  }

  @Get('observable')
  @WithLock('a', MINUTE)
  observable(): Observable<string> {
    return of(run('observable'));
  }

  @Get('stays')
  @WithLock('a', { ...MINUTE, onDisconnect: 'wait' })
  async stays(): Promise<string> {
    return run('stays');
  }

  @Get('stays-outside')
  @WithLock('a', { ...MINUTE, onDisconnect: 'wait', via: 'interceptor' })
  async staysOutside(): Promise<string> {
    return run('stays-outside');
  }

  /** Its work has begun when it waits. */
  @Get('inside')
  @WithLock('outer')
  async inside(): Promise<string> {
    run('outer');
    return this.stock.take();
  }
}

@Resolver()
class Products {
  @Query(() => String)
  @WithLock('a', MINUTE)
  async buy(@Args('id') id: string): Promise<string> {
    return run(id);
  }
}

@Module({})
class App {}

/** An application whose lock `a` is held elsewhere, and the errors that it logs. */
async function start(platform: string) {
  runs = [];
  const errors: unknown[] = [];
  const log = (message: unknown) => errors.push(message);
  const driver = { driver: MercuriusDriver, autoSchemaFile: true };
  const isFastify = platform === 'Fastify';
  const imports = [RedisLockModule.forRoot({ connection: redis.connection })];
  const metadata = {
    module: App,
    imports: isFastify
      ? [...imports, GraphQLModule.forRoot<MercuriusDriverConfig>(driver)]
      : imports,
    controllers: [Shop],
    providers: isFastify ? [Stock, Products] : [Stock],
  };
  const logger = { log: () => undefined, warn: () => undefined, error: log, fatal: log };
  const options = { logger, abortOnError: false, forceCloseConnections: true };
  const app = await apps.add(
    isFastify
      ? await NestFactory.create(metadata, new FastifyAdapter(), options)
      : await NestFactory.create(metadata, options),
  );
  const monitor = app.nest.get(LockMonitor);
  const waiting = () => monitor.status().waiting;
  const holder = await app.locks.acquire('a');
  /** @param begun what runs before the wait */
  const leave = async (path: string, init?: RequestInit, begun: string[] = []) => {
    const client = new AbortController();
    const request = app.request(path, { ...init, signal: client.signal });
    await eventually(() => waiting() === 1 && runs.length === begun.length);
    client.abort();
    await expect(request).rejects.toThrow('aborted');
    expect(runs).toEqual(begun);
  };
  return { app, errors, waiting, holder, leave };
}

describe.each(['Express', 'Fastify'])(
  'a client on %s that leaves while its handler waits',
  (on) => {
    it.each(['method', 'below', 'twice/7', 'interceptor', 'observable'])(
      'takes its waiter along: /%s',
      async (path) => {
        const { app, errors, waiting, holder, leave } = await start(on);
        await leave(`/${path}`);
        await eventually(() => waiting() === 0);
        await holder.release();
        expect(runs).toEqual([]);
        expect(errors).toEqual([]);
        expect(await (await app.request(`/${path}`)).text()).toBe(runs[0]);
      },
    );

    it.each([
      ['stays', []],
      ['stays-outside', []],
      ['inside', ['outer']],
    ])('leaves its waiter there: /%s', async (path, begun) => {
      const { errors, waiting, holder, leave } = await start(on);
      await leave(`/${path}`, {}, begun);
      expect(waiting()).toBe(1);
      await holder.release();
      await eventually(() => runs.length === begun.length + 1);
      expect(errors).toEqual([]);
    });
  },
);

it('a client of GraphQL that leaves takes its waiters along', async () => {
  const { waiting, holder, leave } = await start('Fastify');
  await leave('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query: '{ buy(id: "7") }' }),
  });
  await eventually(() => waiting() === 0);
  await holder.release();
  expect(runs).toEqual([]);
});
