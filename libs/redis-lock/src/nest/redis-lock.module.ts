import {
  Inject,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { LockContext } from '../core/lock-context.js';
import { LockMonitor } from '../core/monitor.js';
import { RedLockService } from '../primitives/red-lock/red-lock-service.js';
import { resolveSettings, type LockSettings } from '../core/api/options.js';
import { prepareIoredisConnection } from '../ioredis/ioredis-connection.js';
import type { PublishOption } from '../ioredis/publish-option.js';
import { DEFAULT_URL, type ConnectionOption, type NodeOption } from '../ioredis/redis-client.js';
import { BACKEND, redisBackend, type Backend, type BackendConnection } from './backend.js';
import { featureModule, type LockTemplateOptions } from './lock-features.js';
import { HostScan } from './lock-host.js';
import { EventChannel, LockLogger } from './lock-logger.js';
import {
  checkAsyncOptions,
  extrasGiven,
  optionsGiven,
  optionsMade,
  type NamedOptions,
} from './module-options.js';
import {
  connectionsOf,
  NAMED_CONNECTION,
  placeOfCaller,
  refuseSameName,
  type NamedConnection,
} from './named-connections.js';
import { noRedLocks, RedLocks } from './red-locks.js';
import { getLockContextToken, getLocksToken, SERVICES } from './service-tokens.js';

/** Independent Redis servers, best three or five, for `RedLockService`. */
export interface RedLockOptions {
  /**
   * One entry for each server: a url, ioredis options, or a `Redis` of yours, which this library
   * never closes.
   */
  readonly nodes: readonly NodeOption[];
  /**
   * The longest lease that any process of the fleet asks for, the same in all of them: a server
   * does not vote for this time after a restart.
   * @default `leaseTimeMs` of the module
   */
  readonly longestLeaseMs?: number | undefined;
}

/** Every option may be left out. Every time is in milliseconds. */
export interface RedisLockOptions extends Partial<Omit<LockSettings, 'name'>> {
  /**
   * A url, ioredis options, or a `Redis` or `Cluster` of yours, which this library never closes.
   * Waiting opens a second connection, for messages.
   * @default 'redis://127.0.0.1:6379'
   */
  readonly connection?: ConnectionOption;
  /**
   * How releases are announced in a Cluster: `auto` takes sharded messages where the servers have
   * them, as Redisson does. All services that share locks need the same way, or some of them `both`;
   * otherwise waiters find a free lock by their poll.
   * @default 'auto'
   */
  readonly publish?: PublishOption | undefined;
  /** Without it, `RedLockService` refuses every call. */
  readonly redLock?: RedLockOptions | undefined;
}

interface Extras {
  /**
   * The name of this connection, where an application has several. It must be known before anything
   * is made, so it stands beside a factory and not in its result.
   * @default 'default'
   */
  readonly name?: string | undefined;
  /**
   * Whether all modules have the services and decorators without importing this one.
   * @default true
   */
  readonly isGlobal?: boolean | undefined;
}

/** The options of `forRoot`. */
export type RedisLockModuleOptions = RedisLockOptions & Extras;

/** The contract of `useClass` and `useExisting`. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): RedisLockOptions | Promise<RedisLockOptions>;
}

/** Exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface RedisLockModuleAsyncOptions extends Extras, Pick<ModuleMetadata, 'imports'> {
  readonly useFactory?: FactoryProvider<RedisLockOptions | Promise<RedisLockOptions>>['useFactory'];
  /** The parameters of `useFactory`. */
  readonly inject?: FactoryProvider['inject'];
  readonly useClass?: Type<RedisLockOptionsFactory>;
  readonly useExisting?: Type<RedisLockOptionsFactory>;
}

const OPTIONS = Symbol.for('nestjs-redis-lock:options');
const PARTS = Symbol.for('nestjs-redis-lock:parts');
const CONNECTION = Symbol.for('nestjs-redis-lock:connection');
const RED_LOCKS = Symbol.for('nestjs-redis-lock:red-locks');
/** Its text is the hint in Nest's own message when the bare class is imported. */
const CONTEXT = Symbol.for('RedisLockModule.forRoot() instead of RedisLockModule');

/** The parts that are made from the options of a connection. */
interface Parts {
  readonly connection: BackendConnection;
  readonly context: LockContext;
  readonly redLocks: RedLocks | undefined;
}

/**
 * Provides the services of all locks and of the decorators for one Redis. When the application
 * closes, waiters are rejected, and holders get `shutdownTimeoutMs` to finish. Then the other locks
 * are released, and the connections of this library are closed.
 */
@Module({})
export class RedisLockModule
  implements
    OnModuleInit,
    OnApplicationBootstrap,
    OnModuleDestroy,
    BeforeApplicationShutdown,
    OnApplicationShutdown
{
  #drained: Promise<unknown> | undefined;

  constructor(
    @Inject(CONTEXT) private readonly context: LockContext,
    @Inject(CONNECTION) private readonly connection: BackendConnection,
    @Inject(RED_LOCKS) private readonly redLocks: RedLocks | undefined,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    refuseSameName(connectionsOf(modules, RedisLockModule));
  }

  /**
   * One connection, or another one with every call that gives a `name`. The other options are
   * checked when the application starts. It fails with a `LockConfigurationError` that names the
   * necessary change.
   * @throws {LockConfigurationError} the name cannot be used
   */
  static forRoot(options: RedisLockModuleOptions = {}): DynamicModule {
    const from = 'RedisLockModule.forRoot()';
    const { name, isGlobal } = extrasGiven(options, from);
    const connection = { name, place: placeOfCaller() };
    return assemble({ isGlobal }, connection, [
      { provide: OPTIONS, useFactory: () => optionsGiven(options, from) },
    ]);
  }

  /**
   * As `forRoot`, with options that come from a factory.
   * @throws {LockConfigurationError} there is not exactly one factory, or an unknown option
   */
  static forRootAsync(options: RedisLockModuleAsyncOptions): DynamicModule {
    const from = 'RedisLockModule.forRootAsync()';
    checkAsyncOptions(options, from);
    const { name, isGlobal } = extrasGiven(options, from);
    const connection = { name, place: placeOfCaller() };
    const { imports = [], useClass } = options;
    const providers: Provider[] = [asyncOptions(options, name, from)];
    if (useClass !== undefined) providers.push(useClass);
    return assemble({ isGlobal, imports }, connection, providers);
  }

  /**
   * Templates of locks that their modules inject by `@InjectLock(name)`.
   * @throws {LockConfigurationError} a template, or an option, cannot work
   */
  static forFeature(templates: readonly LockTemplateOptions[]): DynamicModule {
    return featureModule(templates);
  }

  async onModuleInit(): Promise<void> {
    try {
      await this.redLocks?.open();
    } catch (error) {
      // An application that was never started is never closed.
      await this.onApplicationShutdown();
      throw error;
    }
  }

  /** Not before all modules are initialised: one that fails would leave the connection open. */
  onApplicationBootstrap(): void {
    this.connection.open();
  }

  onModuleDestroy(): void {
    // Later, Nest waits for one module after the other: holders of all connections get the same
    // time.
    this.#drained = Promise.all(this.#contexts.map((context) => context.drain()));
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#drained;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#contexts.map((context) => context.close()));
  }

  get #contexts(): LockContext[] {
    return this.redLocks === undefined ? [this.context] : [this.context, this.redLocks.context];
  }
}

function asyncOptions(options: RedisLockModuleAsyncOptions, name: string, from: string): Provider {
  const { useFactory, inject = [], useClass, useExisting = useClass } = options;
  if (useFactory !== undefined || useExisting === undefined) {
    return {
      provide: OPTIONS,
      inject,
      useFactory: (...args: unknown[]) => optionsMade(() => useFactory?.(...args), name, from),
    };
  }
  return {
    provide: OPTIONS,
    inject: [useExisting],
    useFactory: (factory: RedisLockOptionsFactory) =>
      optionsMade(() => factory.createRedisLockOptions(), name, from),
  };
}

function assemble(
  { isGlobal, imports = [] }: { isGlobal: boolean; imports?: ModuleMetadata['imports'] },
  connection: NamedConnection,
  options: Provider[],
): DynamicModule {
  const services = servicesOf(connection.name);
  return {
    module: RedisLockModule,
    global: isGlobal,
    imports,
    providers: [
      ...options,
      { provide: NAMED_CONNECTION, useValue: connection },
      HostScan,
      { provide: BACKEND, useFactory: () => redisBackend(prepareIoredisConnection) },
      { provide: PARTS, inject: [OPTIONS, BACKEND], useFactory: partsOf },
      { provide: CONTEXT, inject: [PARTS], useFactory: ({ context }: Parts) => context },
      { provide: CONNECTION, inject: [PARTS], useFactory: ({ connection }: Parts) => connection },
      { provide: RED_LOCKS, inject: [PARTS], useFactory: ({ redLocks }: Parts) => redLocks },
      ...services,
    ],
    exports: services.map(({ provide }) => provide),
  };
}

/** The services that an application can inject from the connection of this name. */
function servicesOf(name: string): Exclude<Provider, Type>[] {
  return [
    ...SERVICES.map((Service) => ({
      provide: getLocksToken<unknown>(Service, name),
      inject: [CONTEXT],
      useFactory: (context: LockContext) => new Service(context),
    })),
    {
      provide: getLocksToken(RedLockService, name),
      inject: [PARTS],
      useFactory: ({ redLocks }: Parts) => redLocks?.service ?? noRedLocks(),
    },
    { provide: getLockContextToken(name), useExisting: CONTEXT },
    { provide: getLocksToken(LockMonitor, name), inject: [PARTS], useFactory: monitorOf },
  ];
}

function partsOf(options: NamedOptions, backend: Backend): Parts {
  const { name, observer: next } = resolveSettings(options.settings);
  const observer = new LockLogger(new EventChannel(name, next));
  const settings = { ...options.settings, observer };
  const target = 'connection' in options ? options.connection : DEFAULT_URL;
  const connection = backend.connect(target, observer, options.publish);
  const context = backend.context(connection, settings);
  const { redLock } = options;
  const redLocks = redLock === undefined ? undefined : new RedLocks(redLock, settings, backend);
  return { connection, context, redLocks };
}

function monitorOf({ context, redLocks }: Parts): LockMonitor {
  return new LockMonitor(context, redLocks === undefined ? [] : [redLocks.context]);
}
