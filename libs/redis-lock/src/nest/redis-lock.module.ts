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

import { REDIS, type Backend } from '../family/backend.js';
import { LockFamily } from '../family/lock-family.js';
import type { RedisLockOptions } from '../family/options.js';
import { featureModule, type LockTemplateOptions } from './lock-features.js';
import { HostScan } from './lock-host.js';
import { LeavingClients } from './leaving-clients.js';
import { LockLogger } from './lock-logger.js';
import {
  checkAsyncOptions,
  extrasGiven,
  optionsGiven,
  optionsMade,
  type ModuleOptions,
} from './module-options.js';
import {
  connectionsOf,
  NAMED_CONNECTION,
  placeOfCaller,
  refuseSameName,
  type NamedConnection,
} from './named-connections.js';
import { getLockContextToken, getLockServiceToken, SERVICES } from './service-tokens.js';

interface Extras {
  /**
   * The name of this connection, if the application has several. It stands beside a factory, not in
   * its result: Nest needs it first.
   * @default 'default'
   */
  readonly name?: string | undefined;
  /**
   * Whether all modules can use the services and decorators without an import of this one.
   * @default true
   */
  readonly isGlobal?: boolean | undefined;
}

/** The options of the locks, and of their lines in Nest's log. */
interface LoggedLockOptions extends RedisLockOptions {
  /**
   * Whether the log has a line for each acquisition, release, renewal and wait. Failures, losses
   * and outages are always logged.
   * @default false
   */
  readonly logAcquisitions?: boolean | undefined;
}

/** The options of `forRoot`: {@link RedisLockOptions}, `name`, `isGlobal` and `logAcquisitions`. */
export type RedisLockModuleOptions = LoggedLockOptions & Extras;

/** The result of a factory, which cannot have the options of `Extras`. */
type Made = LoggedLockOptions & { readonly [Extra in keyof Extras]?: never };

/** The contract of `useClass` and `useExisting`. */
export interface RedisLockOptionsFactory {
  createRedisLockOptions(): Made | Promise<Made>;
}

interface AsyncExtras extends Extras, Pick<ModuleMetadata, 'imports'> {
  /** Providers that only this module needs, such as a parameter of `useFactory`. */
  readonly extraProviders?: Provider[] | undefined;
}

/**
 * Exactly one of `useFactory`, `useClass` and `useExisting`. `inject` lists the parameters of
 * `useFactory`.
 */
export type RedisLockModuleAsyncOptions = AsyncExtras &
  (
    | {
        readonly useFactory: FactoryProvider<Made | Promise<Made>>['useFactory'];
        readonly inject?: FactoryProvider['inject'];
        readonly useClass?: never;
        readonly useExisting?: never;
      }
    | {
        readonly useClass: Type<RedisLockOptionsFactory>;
        readonly useFactory?: never;
        readonly inject?: never;
        readonly useExisting?: never;
      }
    | {
        readonly useExisting: Type<RedisLockOptionsFactory>;
        readonly useFactory?: never;
        readonly inject?: never;
        readonly useClass?: never;
      }
  );

/** One token for all modules of an application: a test replaces it once. */
export const BACKEND = Symbol.for('nestjs-redis-lock:backend');
const OPTIONS = Symbol.for('nestjs-redis-lock:options');
/** Nest's own message shows this text when the bare class is imported. */
const FAMILY = Symbol.for('RedisLockModule.forRoot() instead of RedisLockModule');

/**
 * Provides the services of all locks and of the decorators for one Redis. When the application
 * closes, waiters reject, and holders have `shutdownTimeoutMs` to finish. Then the module releases
 * the other locks, and closes the connections that it opened.
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

  /** @internal */
  constructor(
    @Inject(FAMILY) private readonly family: LockFamily,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    refuseSameName(connectionsOf(modules, RedisLockModule));
  }

  /**
   * Sets up one connection; each call with another `name` sets up one more. The other options are
   * checked when the application starts: it fails with a `LockConfigurationError` that names the
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
    const { imports = [], extraProviders = [], useClass } = options;
    const providers = [asyncOptions(options, name, from), ...extraProviders];
    if (useClass !== undefined) providers.push(useClass);
    return assemble({ isGlobal, imports }, connection, providers);
  }

  /**
   * Provides lock templates, which modules inject by `@InjectLock(name)`.
   * @throws {LockConfigurationError} a template, or an option, cannot work
   */
  static forFeature(templates: readonly LockTemplateOptions[]): DynamicModule {
    return featureModule(templates);
  }

  async onModuleInit(): Promise<void> {
    await this.orEnd(this.family.openRedLock());
  }

  /**
   * Opens when all modules are initialised: if one failed later, the connection would stay open.
   */
  async onApplicationBootstrap(): Promise<void> {
    this.family.open();
    await this.orEnd(this.family.judge());
  }

  onModuleDestroy(): void {
    // Later, Nest waits for one module after the other: holders of all connections get the same
    // time.
    this.#drained = this.family.drain();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.#drained;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.family.end();
  }

  /** An application that was never started is never closed. */
  private async orEnd(starting: Promise<void>): Promise<void> {
    try {
      await starting;
    } catch (error) {
      await this.onApplicationShutdown();
      throw error;
    }
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
      LeavingClients,
      { provide: BACKEND, useFactory: () => REDIS },
      {
        provide: FAMILY,
        inject: [OPTIONS, BACKEND],
        useFactory: ({ logAcquisitions, ...given }: ModuleOptions, backend: Backend) =>
          new LockFamily(given, backend, (next) => new LockLogger(next, logAcquisitions)),
      },
      ...services,
    ],
    exports: services.map(({ provide }) => provide),
  };
}

/** The services that an application can inject from the connection of this name. */
function servicesOf(name: string): Exclude<Provider, Type>[] {
  const services = SERVICES.map(([Service, of]) => ({
    provide: getLockServiceToken<unknown>(Service, name),
    inject: [FAMILY],
    useFactory: of,
  }));
  const context = ({ context }: LockFamily) => context;
  return [
    ...services,
    { provide: getLockContextToken(name), inject: [FAMILY], useFactory: context },
  ];
}
