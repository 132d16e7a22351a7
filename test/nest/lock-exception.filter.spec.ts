import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Logger,
  Module,
  type MiddlewareConsumer,
  type NestModule,
  Param,
  Res,
  UseFilters,
  type Provider,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost, NestFactory } from '@nestjs/core';
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
  type LockErrorCode,
  type LockExceptionFilterOptions,
} from 'nestjs-redis-lock';
import { lastValueFrom, type Observable } from 'rxjs';
import { redisson, useRealRedis } from '../support/set-up.js';
import { SILENT, useApplications, type RunningApp } from './applications.js';

const SECRET = 'ERR s3cret of redis';

const backend = (retryable: boolean) =>
  new LockBackendError(SECRET, { retryable, outcome: 'unknown', cause: new Error(SECRET) });
const timeout = (retryAfterMs: number) =>
  new LockTimeoutError(SECRET, { waitedMs: 5, retryAfterMs });

/** Errors, with the status and the Retry-After that they are answered with. */
const ERRORS: Record<string, [LockError, number, string | null]> = {
  timeout: [timeout(29_000), 423, '1'],
  soon: [timeout(0), 423, '1'],
  never: [timeout(Infinity), 423, '1'],
  backend: [backend(true), 503, '5'],
  broken: [backend(false), 503, '5'],
  waiters: [new LockLimitError(SECRET, 'maxWaitersPerKey', 5), 429, '1'],
  keys: [new LockLimitError(SECRET, 'maxKeys', 5), 429, '1'],
  shutdown: [new LockShutdownError(SECRET), 503, '1'],
  key: [new LockKeyError(SECRET), 400, null],
  keyOfCode: [new LockKeyError(SECRET, { origin: 'code' }), 400, null],
  lost: [new LeaseLostError(SECRET, 'gone', { result: SECRET }), 500, null],
  state: [new LockStateError(SECRET), 500, null],
  argument: [new LockArgumentError(SECRET), 500, null],
  configuration: [new LockConfigurationError(SECRET), 500, null],
};

const CHANGED: LockExceptionFilterOptions = {
  statuses: { LOCK_TIMEOUT: 409, LEASE_LOST: 409, LOCK_BACKEND: 500, LOCK_LIMIT: 503 },
  retryAfterS: 2,
};

/** The same errors with these options. */
const CHANGED_ERRORS: typeof ERRORS = {
  ...ERRORS,
  timeout: [timeout(29_000), 409, '2'],
  later: [timeout(1_999), 409, '1'],
  soon: [timeout(0), 409, '1'],
  never: [timeout(Infinity), 409, '2'],
  backend: [backend(true), 500, '2'],
  broken: [backend(false), 500, '2'],
  waiters: [new LockLimitError(SECRET, 'maxWaitersPerKey', 5), 503, '2'],
  keys: [new LockLimitError(SECRET, 'maxKeys', 5), 503, '2'],
  shutdown: [new LockShutdownError(SECRET), 503, '2'],
  lost: [new LeaseLostError(SECRET, 'gone', { result: SECRET }), 409, null],
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
    throw (CHANGED_ERRORS[name] ?? [new Error('unknown')])[0];
  }
}

@Controller('filtered')
@UseFilters(LockExceptionFilter)
class Filtered extends Errors {}

@Controller('changed')
@UseFilters(new LockExceptionFilter(CHANGED))
class Changed extends Errors {}

/** The levels of the log, whatever the status. */
const LEVELS: Partial<Record<LockErrorCode, string>> = {
  LOCK_BACKEND: 'warn',
  LOCK_SHUTDOWN: 'warn',
  LOCK_LIMIT: 'warn',
  LOCK_KEY: 'debug',
  LEASE_LOST: 'error',
  LOCK_STATE: 'error',
  LOCK_ARGUMENT: 'error',
  LOCK_CONFIGURATION: 'error',
};

@Module({})
class App implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    const busy = () => {
      throw timeout(29_000);
    };
    const begun = (_: unknown, response: ServerResponse) => {
      response.write('begun ');
      throw timeout(29_000);
    };
    consumer.apply(busy).forRoutes('middleware/busy').apply(begun).forRoutes('middleware/begun');
  }
}

const redis = useRealRedis();
const apps = useApplications(redis);

async function expectAnswers(app: RunningApp, prefix: string, errors = ERRORS): Promise<void> {
  for (const [name, [error, status, retryAfter]] of Object.entries(errors)) {
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
    const isOurs = status === 500 && retryAfter === null;
    expect(body.includes('"message":"Internal server error"')).toBe(isOurs);
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

  it.each<[string, Provider]>([
    ['useValue', { provide: APP_FILTER, useValue: new LockExceptionFilter(CHANGED) }],
    [
      'useFactory',
      {
        provide: APP_FILTER,
        inject: [HttpAdapterHost],
        useFactory: (host: HttpAdapterHost) => new LockExceptionFilter(CHANGED, host),
      },
    ],
  ])('has the same options application-wide: %s', async (_, filter) => {
    const app = await apps.start({ controllers: [Errors], providers: [filter] });
    await expectAnswers(app, '/errors', CHANGED_ERRORS);
  });

  it('has the same options on a controller', async () => {
    const app = await apps.start({ controllers: [Changed] });
    await expectAnswers(app, '/changed', CHANGED_ERRORS);
  });

  it.each<[string, unknown]>([
    ['retryAfterS must be a whole number of seconds from 1 to 3600, not 0', { retryAfterS: 0 }],
    ['not 1.5', { retryAfterS: 1.5 }],
    ['not 5000', { retryAfterS: 5_000 }],
    ['not "2"', { retryAfterS: '2' }],
    ['unknown option "retryAfter"; the options are statuses, retryAfterS', { retryAfter: 2 }],
    ['statuses: the options must be a plain object, not 409', { statuses: 409 }],
    ['statuses: unknown option "TIMEOUT"', { statuses: { TIMEOUT: 409 } }],
    [
      'statuses: LOCK_TIMEOUT must be a whole number from 400 to 599, not 200',
      { statuses: { LOCK_TIMEOUT: 200 } },
    ],
    ['not 600', { statuses: { LOCK_KEY: 600 } }],
    ['not "409"', { statuses: { LOCK_TIMEOUT: '409' } }],
    ['a plain object (the second argument is app.get(HttpAdapterHost)), not a Map', new Map()],
    ['not null', null],
  ])('refuses options that cannot be: %s', (message, options) => {
    const make = () => new LockExceptionFilter(options as LockExceptionFilterOptions);
    expect(make).toThrow(LockConfigurationError);
    expect(make).toThrow(message);
  });

  it.each([
    ['Express', () => undefined],
    ['Express', (app: INestApplication) => app.get(HttpAdapterHost)],
    ['Fastify', () => undefined],
    ['Fastify', (app: INestApplication) => app.get(HttpAdapterHost)],
  ])('answers for a middleware of %s', async (platform, hostOf) => {
    const nest =
      platform === 'Fastify'
        ? await NestFactory.create(App, new FastifyAdapter(), SILENT)
        : await NestFactory.create(App, SILENT);
    nest.useGlobalFilters(new LockExceptionFilter({}, hostOf(nest)));
    const app = await apps.add(nest);
    const busy = await app.request('/middleware/busy');
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([423, '1']);
    expect(busy.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await busy.json()).toMatchObject({ statusCode: 423, code: 'LOCK_TIMEOUT' });
    const begun = await app.request('/middleware/begun');
    expect([begun.status, await begun.text()]).toEqual([200, 'begun ']);
  });

  it.each([
    ['Express', (app: INestApplication) => app.get(HttpAdapterHost)],
    ['Express, without an adapter', () => undefined],
    ['Fastify, without an adapter', () => undefined],
  ])('answers when it was made by hand: %s', async (platform, hostOf) => {
    const imports = [RedisLockModule.forRoot({ connection: redis.connection })];
    const metadata = { module: App, imports, controllers: [Errors] };
    const nest = platform.startsWith('Fastify')
      ? await NestFactory.create(metadata, new FastifyAdapter(), SILENT)
      : await NestFactory.create(metadata, SILENT);
    nest.enableCors({ origin: 'http://shop.example' });
    nest.useGlobalFilters(new LockExceptionFilter({}, hostOf(nest)));
    const app = await apps.add(nest);
    await expectAnswers(app, '/errors');
    const { headers } = await app.request('/errors/timeout');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('access-control-allow-origin')).toBe('http://shop.example');
    // An answer that has begun is only ended.
    const begun = await app.request('/errors/begun');
    expect([begun.status, await begun.text()]).toEqual([200, 'begun ']);
  });

  it('tells a busy client to come back soon, whatever the lease', async () => {
    const app = await apps.start({ controllers: [Filtered, Changed] });
    await redisson.tryLock(redis.admin, 'busy', 20_000);
    for (const [path, status, retryAfter] of [
      ['/filtered/locked', 423, '1'],
      ['/changed/locked', 409, '2'],
    ] as const) {
      const { headers, status: answered } = await app.request(path);
      expect([answered, headers.get('retry-after')]).toEqual([status, retryAfter]);
    }
  });

  it('writes to the log what an operator must see, and nothing of a busy lock', async () => {
    const lines: [string, unknown][] = [];
    const line = (level: string) => (message: unknown) => lines.push([level, message]);
    const app = await apps.start({ controllers: [Changed] });
    Logger.overrideLogger({
      ...{ log: line('log'), debug: line('debug'), warn: line('warn'), error: line('error') },
    });
    try {
      for (const name of Object.keys(ERRORS)) await app.request(`/changed/${name}`);
    } finally {
      Logger.overrideLogger(false);
    }
    const expected = Object.values(CHANGED_ERRORS).map(([error]) => [
      error instanceof LockKeyError && error.origin === 'code' ? 'warn' : LEVELS[error.code],
      error.message,
    ]);
    expect(lines).toEqual(expected.filter(([level]) => level !== undefined));
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
    const httpAdapter = adapter as unknown as HttpAdapterHost['httpAdapter'];
    const filter = new LockExceptionFilter({}, { httpAdapter });
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
      expect(() => filter.catch(error, host)).toThrow(
        'new LockExceptionFilter({}, app.get(HttpAdapterHost))',
      );
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
      filter.catch(timeout(700), hostOf('ws', standard));
      filter.catch(timeout(Infinity), hostOf('ws', socketIo));
      expect(said).toEqual([
        { event: 'exception', data: { ...busy, retryAfterMs: 700 } },
        ['exception', { ...busy, retryAfterMs: 1_000 }],
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
