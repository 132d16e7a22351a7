import type { DynamicModule } from '@nestjs/common';

import { BACKEND } from '../nest/backend.js';
import {
  RedisLockModule,
  type RedisLockModuleAsyncOptions,
  type RedisLockModuleOptions,
} from '../nest/redis-lock.module.js';
import { LockTesting, type LockTestingOptions } from './lock-testing.js';

export type RedisLockTestingModuleOptions = RedisLockModuleOptions & LockTestingOptions;
export type RedisLockTestingModuleAsyncOptions = RedisLockModuleAsyncOptions & LockTestingOptions;

/** What `Test.createTestingModule()` of @nestjs/testing makes. */
export interface OverridableModule {
  overrideProvider(token: symbol): { useValue(value: unknown): unknown };
}

const RED_LOCK = { nodes: ['redis://1', 'redis://2', 'redis://3'] };

/**
 * Takes the place of `RedisLockModule` in tests: the same services and decorators, with the same
 * behaviour, on servers in this process. Nothing is connected, whatever `connection` says.
 */
export const RedisLockTestingModule = {
  /** As `RedisLockModule.forRoot`; provides `LockTesting` as well. */
  forRoot(options: RedisLockTestingModuleOptions = {}): DynamicModule {
    const { clock, ...rest } = options;
    return withoutRedis(RedisLockModule.forRoot({ redLock: RED_LOCK, ...rest }), { clock });
  },

  /** As `RedisLockModule.forRootAsync`; provides `LockTesting` as well. */
  forRootAsync(options: RedisLockTestingModuleAsyncOptions): DynamicModule {
    const { clock, ...rest } = options;
    return withoutRedis(RedisLockModule.forRootAsync(rest), { clock });
  },

  /**
   * Takes Redis away from an application that imports `RedisLockModule`, with the options that it has
   * there; to be called before `compile()`.
   */
  replaceRedisIn(builder: OverridableModule, options: LockTestingOptions = {}): LockTesting {
    const testing = new LockTesting(options);
    builder.overrideProvider(BACKEND).useValue(testing.backend);
    return testing;
  },
};

function withoutRedis(module: DynamicModule, options: LockTestingOptions): DynamicModule {
  const { providers = [], exports = [] } = module;
  return {
    ...module,
    providers: [
      ...providers,
      { provide: LockTesting, useFactory: () => new LockTesting(options) },
      {
        provide: BACKEND,
        inject: [LockTesting],
        useFactory: ({ backend }: LockTesting) => backend,
      },
    ],
    exports: [...exports, LockTesting],
  };
}
