import { Module, type DynamicModule } from '@nestjs/common';

import { describeValue, LockConfigurationError } from '../../core/api/errors.js';
import { isConnectionName, unusableName } from '../../core/api/options.js';
import { isPlainObject } from '../../core/api/shapes.js';
import { getLockContextToken } from '../../nest/service-tokens.js';
import {
  ON_THROTTLER_BACKEND_ERROR,
  RedisThrottlerStorage,
  THROTTLER_CONTEXT,
  type OnThrottlerBackendError,
} from './redis-throttler-storage.js';

/** The connection that counts requests, and the reaction when it cannot. */
export interface RedisThrottlerOptions {
  /**
   * The name of the connection of `RedisLockModule` on which requests are counted.
   * @default 'default'
   */
  readonly connection?: string | undefined;
  /**
   * The reaction to requests while Redis cannot be asked. `reject` fails them with
   * `LockBackendError`; `allow` lets all of them in, whatever the limit.
   * @default 'reject'
   */
  readonly onBackendError?: OnThrottlerBackendError | undefined;
}

/**
 * Gives `RedisThrottlerStorage` to the factory of `ThrottlerModule.forRootAsync()`, which imports this.
 */
@Module({})
export class RedisThrottlerModule {
  /** @throws {LockConfigurationError} an option is unknown, or makes no sense */
  static forRoot(options: RedisThrottlerOptions = {}): DynamicModule {
    if (!isPlainObject(options))
      refuse(`the options must be a plain object, not ${describeValue(options)}`);
    const { connection, onBackendError = 'reject', ...unknown } = options;
    const [option] = Object.keys(unknown);
    if (option !== undefined) refuse(`unknown option ${describeValue(option)}`);
    if (connection !== undefined && !isConnectionName(connection)) refuse(unusableName(connection));
    if (!['reject', 'allow'].includes(onBackendError)) {
      refuse(`onBackendError must be 'reject' or 'allow', not ${describeValue(onBackendError)}`);
    }
    return {
      module: RedisThrottlerModule,
      providers: [
        { provide: THROTTLER_CONTEXT, useExisting: getLockContextToken(connection) },
        { provide: ON_THROTTLER_BACKEND_ERROR, useValue: onBackendError },
        RedisThrottlerStorage,
      ],
      exports: [RedisThrottlerStorage],
    };
  }
}

function refuse(problem: string): never {
  throw new LockConfigurationError(`RedisThrottlerModule.forRoot(): ${problem}`);
}
