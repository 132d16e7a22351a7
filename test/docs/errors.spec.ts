import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module, UseFilters } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import {
  FencingGuard,
  getLockServiceToken,
  LockError,
  LockExceptionFilter,
  LockService,
  RedisLockModule,
  RedLockService,
  WithLock,
  type LockErrorCode,
} from 'nestjs-redis-lock';
import { lastValueFrom, type Observable } from 'rxjs';
import { RunningApp, SILENT } from '../nest/applications.js';
import { pageOf } from '../support/proofs.js';
import { eventually, expectNothingLeft, useRealRedis } from '../support/set-up.js';
import { explain } from './examples/explain.js';

/** No server listens here. By its default ioredis would keep the process alive for 2 s. */
const NO_SERVER = { host: '127.0.0.1', port: 1, disconnectTimeout: 50 };

/** The way to a server that is not there takes its time to close: one application serves all. */
let app: RunningApp;

// Declared before the server, and so run while it is still there.
afterAll(async () => {
  await app.nest.close();
  await eventually(() => expectNothingLeft(redis));
});

const redis = useRealRedis();

/** The page has one section for each code, after those for all of them. */
const sections = new Map(
  pageOf('docs/errors.md')
    .split(/^## /m)
    .filter((section) => /^[A-Z]+_[A-Z]+\n/.test(section))
    .map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

/** The anchor that a viewer of Markdown gives the heading of a section. */
const slugOf = (section: string) => section.slice(0, section.indexOf('\n')).toLowerCase();

@Injectable()
class Job {
  @WithLock('a')
  async run(): Promise<void> {}
}

@Module({})
class App {}

let provoked: unknown;

@Controller()
@UseFilters(LockExceptionFilter)
class Web {
  @Get()
  get(): never {
    throw provoked;
  }
}

const named = ({ nest }: RunningApp, name: string) =>
  nest.get<LockService>(getLockServiceToken(LockService, name));

/** Each ends with the error. */
const PROVOKED: Record<LockErrorCode, (app: RunningApp) => Promise<unknown>> = {
  async LOCK_TIMEOUT({ locks }) {
    const lease = await locks.acquire('a');
    return locks.acquire('a', { waitTimeMs: 400 }).finally(() => lease.release());
  },
  LEASE_LOST: ({ locks }) => locks.using('a', () => locks.get('a').forceRelease()),
  LOCK_BACKEND: (app) => named(app, 'down').acquire('a', { waitTimeMs: 1 }),
  LOCK_QUORUM: ({ nest }) => nest.get(RedLockService).acquire('a', { waitTimeMs: 1 }),
  LOCK_REPLICATION: ({ locks }) => locks.acquire('a', { minReplicas: 1 }),
  async LOCK_STATE({ locks }) {
    await redis.admin.set('a', 'of another owner');
    return locks.acquire('a');
  },
  LOCK_KEY: ({ locks }) => locks.acquire(''),
  LOCK_ARGUMENT: ({ locks }) => locks.acquire('a', { waitTimeMs: -1 }),
  LOCK_CONFIGURATION: () => new Job().run(),
  async LOCK_LIMIT(app) {
    const locks = named(app, 'small');
    const lease = await locks.acquire('a');
    return locks.acquire('b').finally(() => lease.release());
  },
  LOCK_NESTING: ({ locks }) => locks.using('a', () => locks.acquire('a', { nesting: 'refuse' })),
  async LOCK_SHUTDOWN() {
    const module = RedisLockModule.forRoot({ connection: redis.url });
    const app = await NestFactory.createApplicationContext(module, SILENT);
    await app.close();
    return app.get(LockService).acquire('a');
  },
};

beforeAll(async () => {
  const imports = [
    RedisLockModule.forRoot({
      connection: redis.url,
      redLock: { nodes: [redis.url, NO_SERVER, { ...NO_SERVER, port: 2 }] },
    }),
    RedisLockModule.forRoot({ name: 'down', connection: NO_SERVER }),
    RedisLockModule.forRoot({ name: 'small', connection: redis.url, maxKeys: 1 }),
  ];
  const module = { module: App, imports, providers: [Job], controllers: [Web] };
  const nest = await NestFactory.create(module, SILENT);
  await nest.listen(0, '127.0.0.1');
  app = new RunningApp(nest, await nest.getUrl());
});

/** A microservice answers its caller with this failure. */
async function failureOf(error: LockError): Promise<unknown> {
  const host = new ExecutionContextHost([]);
  host.setType('rpc');
  const answer = new LockExceptionFilter().catch(error, host) as Observable<never>;
  return lastValueFrom(answer).catch((failure: unknown) => failure);
}

describe('docs/errors.md', () => {
  it('has a section for every code', () => {
    expect([...sections.keys()].sort()).toEqual(Object.keys(PROVOKED).sort());
  });

  it.each(Object.entries(PROVOKED))('%s comes, and is answered as it says', async (...row) => {
    const [code, provoke] = row;
    const section = sections.get(code) ?? '';
    provoked = await provoke(app).catch((error: unknown) => error);
    expect(provoked).toBeInstanceOf(LockError);
    const error = provoked as LockError;
    expect([error.code, error.name]).toEqual([code, section.split('`')[1]]);

    const { pathname, hash } = new URL(error.help);
    expect([pathname, hash]).toEqual(['/nestjs-redis-lock/docs/errors.md', `#${slugOf(section)}`]);

    const [, , kind = ''] = section.split('\n');
    for (const [, property = ''] of kind.matchAll(/`([a-z]\w+)`/g)) {
      expect(error).toHaveProperty(property);
    }
    const parts = [...section.matchAll(/^- \*\*(.*):\*\* \S/gm)].map(([, part]) => part);
    expect(parts).toEqual(['When', 'Afterwards', 'To do', 'Answer']);

    const { status, headers } = await app.request('/');
    const [, says = '', retry] = /Answer:\*\* (\d+)( with `Retry-After`)?/.exec(section) ?? [];
    expect([status, headers.has('retry-after')]).toEqual([Number(says), retry !== undefined]);
    const failure = await failureOf(error);
    expect(failure).toMatchObject({ code });
    expect(Object.hasOwn(failure as object, 'retryAfterMs')).toBe(retry !== undefined);
  });

  it('shows what the outcomes mean', async () => {
    expect(pageOf('docs/errors.md')).toContain(pageOf('test/docs/examples/explain.ts'));
    const explained = (call: Promise<unknown>) => call.catch(explain);
    const { LOCK_TIMEOUT, LEASE_LOST, LOCK_KEY } = PROVOKED;
    expect(await explained(LOCK_TIMEOUT(app))).toMatch(/^busy for at most \d+ ms$/);
    expect(await explained(LEASE_LOST(app))).toBe('done, but possibly not alone: gone');
    expect(await explained(LOCK_KEY(app))).toBe('not done: LOCK_KEY');
    const guard = app.nest.get(FencingGuard);
    await guard.write(2, 'stock', 'set', 1);
    const late = explained(guard.write(1, 'stock', 'set', 9));
    expect(await late).toBe('not written: a newer holder has written');
    expect(await redis.admin.get('stock')).toBe('1');
  });
});
