import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Module,
  Param,
  Res,
  UseFilters,
  type HttpServer,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import {
  LeaseLostError,
  LockArgumentError,
  LockBackendError,
  LockConfigurationError,
  LockExceptionFilter,
  LockKeyError,
  LockLimitError,
  LockShutdownError,
  LockStateError,
  LockTimeoutError,
  RedisLockModule,
  WithLock,
  type LockError,
} from 'nestjs-redis-lock';
import { lastValueFrom, type Observable } from 'rxjs';
import { redisson, useRedis } from '../support/set-up.js';
import { SILENT, useApplications, type RunningApp } from './applications.js';

const SECRET = 'ERR s3cret of redis';

const backend = (retryable: boolean) =>
  new LockBackendError(SECRET, { retryable, outcome: 'unknown', cause: new Error(SECRET) });
const timeout = (retryAfterMs: number) =>
  new LockTimeoutError(SECRET, { waitedMs: 5, retryAfterMs });

/** Errors, with the status and the Retry-After that they are answered with. */
const ERRORS: Record<string, [LockError, number, string | null]> = {
  timeout: [timeout(2_001), 423, '3'],
  soon: [timeout(0), 423, '1'],
  late: [timeout(7_200_000), 423, '3600'],
  never: [timeout(Infinity), 423, null],
  backend: [backend(true), 503, '5'],
  broken: [backend(false), 503, '5'],
  waiters: [new LockLimitError(SECRET, 'maxWaitersPerKey', 5), 429, '1'],
  keys: [new LockLimitError(SECRET, 'maxKeys', 5), 429, '1'],
  shutdown: [new LockShutdownError(SECRET), 503, '1'],
  key: [new LockKeyError(SECRET), 400, null],
  lost: [new LeaseLostError(SECRET, 'gone', { result: SECRET }), 500, null],
  state: [new LockStateError(SECRET), 500, null],
  argument: [new LockArgumentError(SECRET), 500, null],
  configuration: [new LockConfigurationError(SECRET), 500, null],
};

@Controller('errors')
class Errors {
  @Get('locked')
  @WithLock('busy', { waitTimeMs: 0 })
  async locked(): Promise<void> {
    await Promise.resolve();
  }

  @Get('crowded')
  @WithLock('busy', { waitTimeMs: 60_000, onBusy: 'skip' })
  async crowded(): Promise<void> {
    await Promise.resolve();
  }

  @Get('other')
  other(): never {
    throw new Error(SECRET);
  }

  @Get('begun')
  begun(@Res() response: ServerResponse & { raw?: ServerResponse }): never {
    (response.raw ?? response).write('begun ');
    throw timeout(10);
  }

  @Get(':name')
  get(@Param('name') name: string): never {
    throw ERRORS[name]?.[0] ?? new Error('unknown');
  }
}

@Controller('filtered')
@UseFilters(LockExceptionFilter)
class Filtered extends Errors {}

@Module({})
class App {}

const redis = useRedis();
const apps = useApplications(redis);

async function expectAnswers(app: RunningApp, prefix: string): Promise<void> {
  for (const [name, [error, status, retryAfter]] of Object.entries(ERRORS)) {
    const response = await app.request(`${prefix}/${name}`);
    const body = await response.text();
    expect([name, response.status]).toEqual([name, status]);
    expect([name, response.headers.get('retry-after')]).toEqual([name, retryAfter]);
    expect(JSON.parse(body)).toEqual({
      statusCode: status,
      message: expect.any(String),
      error: STATUS_CODES[status],
      code: error.code,
    });
    expect(body).not.toContain('s3cret');
    if (status === 500) expect(body).toContain('"message":"Internal server error"');
  }
}

describe('LockExceptionFilter', () => {
  it('answers as an application-wide filter', async () => {
    const app = await apps.start({
      controllers: [Errors],
      providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
    });
    await expectAnswers(app, '/errors');
    expect((await app.request('/errors/other')).status).toBe(500);
  });

  it('answers as the filter of a controller', async () => {
    const app = await apps.start({ controllers: [Filtered] });
    await expectAnswers(app, '/filtered');
  });

  it.each([
    ['Express', (app: INestApplication) => [app.getHttpAdapter()] as const],
    ['Express, without an adapter', () => [] as const],
    ['Fastify, without an adapter', () => [] as const],
  ])('answers when it was made by hand: %s', async (platform, given) => {
    const imports = [RedisLockModule.forRoot({ connection: redis.url })];
    const metadata = { module: App, imports, controllers: [Errors] };
    const nest = platform.startsWith('Fastify')
      ? await NestFactory.create(metadata, new FastifyAdapter(), SILENT)
      : await NestFactory.create(metadata, SILENT);
    nest.enableCors({ origin: 'http://shop.example' });
    nest.useGlobalFilters(new LockExceptionFilter(...given(nest)));
    const app = await apps.add(nest);
    await expectAnswers(app, '/errors');
    const { headers } = await app.request('/errors/timeout');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('access-control-allow-origin')).toBe('http://shop.example');
    // An answer that has begun is only ended.
    const begun = await app.request('/errors/begun');
    expect([begun.status, await begun.text()]).toEqual([200, 'begun ']);
  });

  it('tells a busy client when to come back', async () => {
    const app = await apps.start({ controllers: [Filtered] });
    await redisson.tryLock(redis.admin, 'busy', 20_000);
    const response = await app.request('/filtered/locked');
    expect(response.status).toBe(423);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(10);
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(20);
  });

  it('sends away who is one too many, and no onBusy answers for it', async () => {
    const app = await apps.start({ controllers: [Filtered] }, { maxWaitersPerKey: 1 });
    await redisson.tryLock(redis.admin, 'busy', 20_000);
    const answers = [1, 2].map(() => app.request('/filtered/crowded'));
    const refused = await Promise.race(answers);
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ statusCode: 429, code: 'LOCK_LIMIT' });
    await redisson.unlock(redis.admin, 'busy');
    const statuses = await Promise.all(answers.map(async (answer) => (await answer).status));
    expect(statuses.sort()).toEqual([200, 429]);
  });

  it('is opt-in', async () => {
    const app = await apps.start({ controllers: [Errors] });
    expect((await app.request('/errors/timeout')).status).toBe(500);
  });

  it('uses nothing of an adapter but its interface, and spares answers that have begun', () => {
    const said: unknown[] = [];
    const adapter = {
      isHeadersSent: (response: { sent: boolean }) => response.sent,
      setHeader: (_: unknown, name: string, value: string) => said.push([name, value]),
      reply: (_: unknown, body: unknown, status: number) => said.push([status, body]),
      end: () => said.push('end'),
    };
    const filter = new LockExceptionFilter(adapter as unknown as HttpServer);
    filter.catch(timeout(10), new ExecutionContextHost([{}, { sent: false }]));
    filter.catch(timeout(10), new ExecutionContextHost([{}, { sent: true }]));
    expect(said).toEqual([
      ['Retry-After', '1'],
      [423, expect.objectContaining({ code: 'LOCK_TIMEOUT' })],
      'end',
    ]);
  });

  it('says what it lacks', () => {
    const filter = new LockExceptionFilter();
    const host = new ExecutionContextHost([{}, {}]);
    for (const [error] of Object.values(ERRORS)) {
      expect(() => filter.catch(error, host)).toThrow(LockConfigurationError);
      expect(() => filter.catch(error, host)).toThrow('app.getHttpAdapter()');
    }
  });

  describe('of what does not come by HTTP', () => {
    const hostOf = (type: string, ...args: unknown[]) => {
      const host = new ExecutionContextHost(args);
      host.setType(type);
      return host;
    };
    const filter = new LockExceptionFilter();
    const busy = { status: 'error', message: expect.any(String), code: 'LOCK_TIMEOUT' };

    it.each(Object.entries(ERRORS))(
      'fails a call of a microservice: %s',
      async (_, [error, , s]) => {
        const stream = filter.catch(error, hostOf('rpc')) as Observable<never>;
        const failure: unknown = await lastValueFrom(stream).catch((thrown: unknown) => thrown);
        expect(failure).toMatchObject({ status: 'error', code: error.code });
        expect(JSON.stringify(failure)).not.toContain('s3cret');
        expect('retryAfterMs' in (failure as object)).toBe(s !== null);
      },
    );

    it('sends an event to WebSocket clients of both kinds', () => {
      const said: unknown[] = [];
      const standard = { readyState: 1, send: (text: string) => said.push(JSON.parse(text)) };
      const socketIo = { emit: (...args: unknown[]) => said.push(args), send: () => undefined };
      filter.catch(timeout(1_500), hostOf('ws', standard));
      filter.catch(timeout(Infinity), hostOf('ws', socketIo));
      expect(said).toEqual([
        { event: 'exception', data: { ...busy, retryAfterMs: 1_500 } },
        ['exception', busy],
      ]);
    });

    it('gives GraphQL an error with extensions, and without the name of the lock', () => {
      const { message, code } = busy;
      let error: unknown;
      try {
        filter.catch(timeout(10), hostOf('graphql'));
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ extensions: { code, retryAfterMs: 10 } });
      expect((error as Error).message).toEqual(message);
      expect((error as Error).message).not.toContain('s3cret');
    });
  });
});
