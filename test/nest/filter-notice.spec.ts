import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  Injectable,
  Logger,
  Module,
  NotFoundException,
  Scope,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
  type INestApplicationContext,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { LockExceptionFilter, LockTimeoutError } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';

const NOTICE = expect.stringMatching(
  /^No exception filter catches .* 500.*APP_FILTER, useClass: LockExceptionFilter/,
);

class NoAnswer implements ExceptionFilter {
  catch(_: unknown, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<{ end(): void }>().end();
  }
}
@Catch()
class Everything extends NoAnswer {}
@Catch(Error)
class EveryError extends NoAnswer {}
@Catch(NotFoundException, LockTimeoutError)
class BusyLocks extends NoAnswer {}
@Catch(NotFoundException)
class OtherErrors extends NoAnswer {}
@Injectable({ scope: Scope.REQUEST })
class OfRequest extends LockExceptionFilter {}

@Controller()
class Plain {
  @Get()
  get(): string {
    return 'here';
  }
}

@Controller()
@UseFilters(LockExceptionFilter)
class Filtered extends Plain {}

@Controller()
class FilteredMethod extends Plain {
  @Get('other')
  @UseFilters(new LockExceptionFilter({ retryAfterS: 2 }))
  other(): string {
    return 'here';
  }
}

@Controller()
@UseFilters(OtherErrors)
class OtherwiseFiltered extends Plain {}

@Injectable()
@UseFilters(LockExceptionFilter)
class Gateway {}

@Module({})
class App {}

const lines: string[] = [];
const apps: INestApplicationContext[] = [];
const SETTINGS = { logger: false, abortOnError: false } as const;

function withLocks({ imports = [RedisLockTestingModule.forRoot()], ...rest }: ModuleMetadata) {
  return { imports, controllers: [Plain], ...rest };
}

const rootOf = (metadata: ModuleMetadata) => ({ module: App, ...withLocks(metadata) });

/** The lines of level `log` at the start of an application. */
async function said(app: INestApplicationContext): Promise<string[]> {
  apps.push(app);
  Logger.overrideLogger({
    ...{ log: (line: string) => lines.push(line), warn: () => undefined, error: () => undefined },
  });
  await app.init();
  return lines.filter((line) => line.includes('filter'));
}

async function saidBy(metadata: ModuleMetadata): Promise<string[]> {
  return said(await NestFactory.create(rootOf(metadata), SETTINGS));
}

const globally = (filter: Omit<Extract<Provider, { useClass: unknown }>, 'provide'>) => ({
  providers: [{ provide: APP_FILTER, ...filter }],
});

describe('The line about a missing filter', () => {
  beforeEach(() => {
    lines.length = 0;
  });
  afterEach(async () => {
    Logger.overrideLogger(false);
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  it('comes where nothing answers', async () => {
    await expect(saidBy({})).resolves.toEqual([NOTICE]);
  });

  it('comes on Fastify, and once for all connections', async () => {
    const imports = ['default', 'cache'].map((name) => RedisLockTestingModule.forRoot({ name }));
    const app = await NestFactory.create(rootOf({ imports }), new FastifyAdapter(), SETTINGS);
    await expect(said(app)).resolves.toEqual([NOTICE]);
  });

  it('comes where filters catch other errors only', async () => {
    const filters = { ...globally({ useClass: OtherErrors }), controllers: [OtherwiseFiltered] };
    await expect(saidBy(filters)).resolves.toEqual([NOTICE]);
  });

  it('comes in an application of @nestjs/testing', async () => {
    const testing = await Test.createTestingModule(withLocks({})).compile();
    await expect(said(testing.createNestApplication())).resolves.toEqual([NOTICE]);
  });

  it.each<[string, ModuleMetadata]>([
    ['application-wide', globally({ useClass: LockExceptionFilter })],
    ['for each request', globally({ useClass: OfRequest, scope: Scope.REQUEST })],
    ['application-wide for everything', globally({ useClass: Everything })],
    ['application-wide for every Error', globally({ useClass: EveryError })],
    ['application-wide for some errors of locks', globally({ useClass: BusyLocks })],
    ['on a controller', { controllers: [Plain, Filtered] }],
    ['on a method', { controllers: [FilteredMethod] }],
    ['on a provider, such as a resolver', { providers: [Gateway] }],
  ])('stays away where a filter is registered %s', async (_, metadata) => {
    await expect(saidBy(metadata)).resolves.toEqual([]);
  });

  it('stays away where a filter is registered by useGlobalFilters', async () => {
    const app = await NestFactory.create(rootOf({}), SETTINGS);
    app.useGlobalFilters(new LockExceptionFilter());
    await expect(said(app)).resolves.toEqual([]);
  });

  it('stays away where there is no controller, and no HTTP server', async () => {
    await expect(saidBy({ controllers: [] })).resolves.toEqual([]);
    const context = await NestFactory.createApplicationContext(rootOf({}), SETTINGS);
    await expect(said(context)).resolves.toEqual([]);
    await expect(said(await Test.createTestingModule(withLocks({})).compile())).resolves.toEqual(
      [],
    );
  });
});
