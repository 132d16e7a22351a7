import { Inject, Injectable, Module, type DynamicModule } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import { createHash, randomBytes } from 'node:crypto';

import { describeValue, LockArgumentError, LockBackendError } from '../../core/api/errors.js';
import { helperKey } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { checkCount, LARGEST_COUNT, type Range } from '../../core/api/options.js';
import { isConnectionName, unusableName } from '../../core/api/settings.js';
import { ANSWER_MS } from '../../core/redis/connection.js';
import { answerWithin } from '../../core/redis/retry.js';
import { HIT, type Hit } from './hits.scripts.js';
import { checkObject, refuse, refuseValue } from '../../core/api/refuse.js';
import { getLockContextToken } from '../../nest/service-tokens.js';

/** The record of a request, for `@nestjs/throttler`. */
type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** The reaction to requests while Redis cannot count them. */
export type OnThrottlerBackendError = 'reject' | 'allow';

const THROTTLER_CONTEXT = Symbol.for('nestjs-redis-lock:throttler-context');
const ON_THROTTLER_BACKEND_ERROR = Symbol.for('nestjs-redis-lock:throttler-backend-error');

const LONGEST_MS = 365 * 24 * 60 * 60 * 1_000;

/**
 * Counts requests in Redis for the guards of `@nestjs/throttler`: a limit holds for all processes
 * together. It counts as throttler's own storage does: every hit ends by itself after its `ttl`, by
 * the clock of Redis. A request that ioredis sends twice counts once.
 */
@Injectable()
export class RedisThrottlerStorage implements ThrottlerStorage {
  /** With a number appended it is the id of a request, unique among all processes. */
  readonly #mark = randomBytes(9).toString('base64url');
  #requests = 0;

  /** @internal */
  constructor(
    @Inject(THROTTLER_CONTEXT) private readonly context: LockContext,
    @Inject(ON_THROTTLER_BACKEND_ERROR) private readonly onBackendError: OnThrottlerBackendError,
  ) {}

  /**
   * Counts one request, or answers how long requests are refused. Waits at most one second.
   * @param ttl how long a request counts, in milliseconds
   * @param limit how many requests may count at a time. Each takes some 40 bytes of Redis, or some
   * 130 when more than 126 count
   * @param blockDuration how long requests are refused after the limit is exceeded, in
   * milliseconds. 0 accepts the next request as soon as another one ends
   * @throws {LockArgumentError} a number is out of range, or the key is no text; nothing reached
   * Redis
   * @throws {LockBackendError} Redis did not answer in time, or refused, unless `onBackendError` is
   * `allow`
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): ReturnType<ThrottlerStorage['increment']> {
    checkText('key', key);
    checkText('throttlerName', throttlerName);
    const ttlMs = wholeMs('ttl', ttl, { min: 1, max: LONGEST_MS });
    checkCount('limit', limit, { min: 0, max: LARGEST_COUNT });
    const isNegative = typeof blockDuration === 'number' && blockDuration < 0;
    const blockMs = wholeMs('blockDuration', isNegative ? 0 : blockDuration, {
      min: 0,
      max: LONGEST_MS,
    });
    const hits = this.#keyOf(key, throttlerName);
    const request = `${this.#mark}.${(++this.#requests).toString(36)}`;
    try {
      return recordOf(await this.#hit(hits, [request, ttlMs, limit, blockMs]));
    } catch (error) {
      if (this.onBackendError !== 'allow' || !(error instanceof LockBackendError)) throw error;
      return { totalHits: 0, timeToExpire: seconds(ttlMs), isBlocked: false, timeToBlockExpire: 0 };
    }
  }

  async #hit(hits: string, args: readonly (string | number)[]): Promise<Hit> {
    const { connection } = this.context;
    const reply = await answerWithin(ANSWER_MS, this.context, undefined, () =>
      connection.run(HIT, [hits], args),
    );
    return reply.value;
  }

  /** Keys contain data of visitors, such as their addresses: Redis receives only a digest. */
  #keyOf(key: string, throttlerName: string): string {
    const digest = createHash('sha256').update(JSON.stringify([throttlerName, key]));
    const { keys } = this.context;
    return helperKey('nestjs_throttle', keys.key(digest.digest('base64url')));
  }
}

/** Values of any other type would all count together. */
function checkText(what: string, value: unknown): void {
  if (typeof value === 'string') return;
  throw new LockArgumentError(`${what} must be a text, not ${describeValue(value)}`);
}

function wholeMs(option: string, ms: unknown, range: Range): number {
  const whole = typeof ms === 'number' ? Math.ceil(ms) : ms;
  checkCount(option, whole, range);
  return whole as number;
}

function recordOf({ totalHits, expiresInMs, isBlocked, blockExpiresInMs }: Hit): ThrottlerRecord {
  return {
    totalHits,
    timeToExpire: seconds(expiresInMs),
    isBlocked,
    timeToBlockExpire: seconds(blockExpiresInMs),
  };
}

/** The headers of an answer are in whole seconds. */
function seconds(ms: number): number {
  return Math.ceil(ms / 1_000);
}

/** Where requests are counted, and what happens when they cannot be. */
export interface RedisThrottlerOptions {
  /**
   * The name of the connection of `RedisLockModule` on which requests are counted.
   * @default 'default'
   */
  readonly connection?: string | undefined;
  /**
   * The answer to requests while Redis does not answer. `reject` fails them with
   * `LockBackendError`; `allow` accepts all of them, regardless of the limit.
   * @default 'reject'
   */
  readonly onBackendError?: 'reject' | 'allow' | undefined;
}

/**
 * Provides `RedisThrottlerStorage` for the factory of `ThrottlerModule.forRootAsync()`, which
 * imports this.
 */
@Module({})
export class RedisThrottlerModule {
  /** @throws {LockConfigurationError} an option is unknown, or its value cannot be used */
  static forRoot(options: RedisThrottlerOptions = {}): DynamicModule {
    const from = 'RedisThrottlerModule.forRoot()';
    checkObject(from, options);
    const { connection, onBackendError = 'reject', ...unknown } = options;
    const [option] = Object.keys(unknown);
    if (option !== undefined) refuse(from, `unknown option ${describeValue(option)}`);
    if (connection !== undefined && !isConnectionName(connection)) {
      refuse(from, unusableName(connection));
    }
    if (!['reject', 'allow'].includes(onBackendError)) {
      refuseValue(from, 'onBackendError', "'reject' or 'allow'", onBackendError);
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
