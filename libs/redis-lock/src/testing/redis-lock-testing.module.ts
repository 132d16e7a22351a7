import type { DynamicModule, Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';

import { LockConfigurationError } from '../core/api/errors.js';
import { NAMED_CONNECTION, placeOfCaller } from '../nest/named-connections.js';
import {
  BACKEND,
  RedisLockModule,
  type RedisLockModuleAsyncOptions,
  type RedisLockModuleOptions,
} from '../nest/redis-lock.module.js';
import { LockTesting, type LockTestingOptions } from './lock-testing.js';

/** The options of `forRoot` in a test. */
export type RedisLockTestingModuleOptions = RedisLockModuleOptions & LockTestingOptions;
/** The options of `forRootAsync` in a test. */
export type RedisLockTestingModuleAsyncOptions = RedisLockModuleAsyncOptions & LockTestingOptions;

/** The builder of `Test.createTestingModule()` of @nestjs/testing. */
export interface OverridableModule {
  overrideProvider(token: symbol): { useValue(value: unknown): unknown };
}

const RED_LOCK = { nodes: ['redis://1', 'redis://2', 'redis://3'] };

/**
 * Replaces `RedisLockModule` in tests: the same services and decorators, with the same behaviour,
 * on servers in this process. It opens no connection, and ignores the option `connection`.
 */
export const RedisLockTestingModule = {
  /** As `RedisLockModule.forRoot`; also provides the `LockTesting` of the application. */
  forRoot(options: RedisLockTestingModuleOptions = {}): DynamicModule {
    const { clock, beside, ...rest } = options;
    const module = RedisLockModule.forRoot({ redLock: RED_LOCK, ...rest });
    return withoutRedis(module, placeOfCaller(), { clock, beside });
  },

  /** As `RedisLockModule.forRootAsync`; also provides the `LockTesting` of the application. */
  forRootAsync(options: RedisLockTestingModuleAsyncOptions): DynamicModule {
    const { clock, beside, ...rest } = options;
    return withoutRedis(RedisLockModule.forRootAsync(rest), placeOfCaller(), { clock, beside });
  },

  /**
   * Replaces Redis in an application that imports `RedisLockModule`, and keeps its options. Call it
   * before `compile()`.
   */
  replaceRedisIn(builder: OverridableModule, options: LockTestingOptions = {}): LockTesting {
    const testing = new LockTesting(options);
    builder.overrideProvider(BACKEND).useValue(testing.backend);
    return testing;
  },
};

/** All connections of an application share one. */
const testings = new WeakMap<ModulesContainer, LockTesting>();

function testingOf(modules: ModulesContainer, options: LockTestingOptions): LockTesting {
  // It checks the options, also where another connection came first.
  const own = new LockTesting(options);
  const testing = testings.get(modules) ?? own;
  testings.set(modules, testing);
  const { clock = testing.options.clock, beside = testing } = options;
  if (clock === testing.options.clock && beside.backend.isBeside(testing.backend)) return testing;
  throw new LockConfigurationError(
    'All connections of an application share one clock and one beside: set the same in each RedisLockTestingModule',
  );
}

function withoutRedis(
  module: DynamicModule,
  place: string,
  options: LockTestingOptions,
): DynamicModule {
  const { providers = [], exports = [] } = module;
  return {
    ...module,
    providers: [
      ...providers.map((provider) => setUpIn(place, provider)),
      {
        provide: LockTesting,
        inject: [ModulesContainer],
        useFactory: (modules: ModulesContainer) => testingOf(modules, options),
      },
      {
        provide: BACKEND,
        inject: [LockTesting],
        useFactory: ({ backend }: LockTesting) => backend,
      },
    ],
    exports: [...exports, LockTesting],
  };
}

/** Reports the test as the place of the connection's set-up. */
function setUpIn(place: string, provider: Provider): Provider {
  if (!('useValue' in provider) || provider.provide !== NAMED_CONNECTION) return provider;
  return { ...provider, useValue: { ...(provider.useValue as object), place } };
}
