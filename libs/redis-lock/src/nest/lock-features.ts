import {
  Inject,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { isDeepStrictEqual } from 'node:util';

import { describeValue, LockConfigurationError, quoteName } from '../core/api/errors.js';
import type { Lock } from '../core/api/lock.js';
import type { LockContext } from '../core/lock-context.js';
import type { LockKind } from '../core/api/observer.js';
import { isLabel, type AnyAcquireOptions } from '../core/api/options.js';
import { DEFAULT_NAME } from '../core/api/settings.js';
import { isPlainObject, withDefaultOptions } from '../core/api/shapes.js';
import { LockService } from '../primitives/lock/lock-service.js';
import type { Semaphore } from '../primitives/semaphore/semaphore.js';
import { compileTemplate, refuseLookAlikes } from './key-template.js';
import { bound, SERVICE_OF, type KindService } from './lock-kinds.js';
import { forRootOf, getLockContextToken, getLockServiceToken } from './service-tokens.js';
import { checkProfile, resolvePlan, type WithLockOptions } from './with-lock.options.js';

/** A lock template, with the default options of its calls. */
export interface LockTemplateOptions extends Omit<
  WithLockOptions<[]>,
  'onBusy' | 'onBackendError' | 'onDisconnect' | 'via'
> {
  /** The name for `@InjectLock(name)`. */
  readonly name: string;
  /** The name of the lock, with placeholders, as in `order:<id>`. */
  readonly key: string;
}

/** The values that a placeholder accepts; any other throws `LockKeyError`. */
export type LockKeyValue = string | number | bigint | boolean;

type Placeholders<Key extends string> = Key extends `${string}<${infer Name}>${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

type ValueAt<Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? { readonly [head in Head]: ValueAt<Rest> }
  : { readonly [head in Path]: LockKeyValue };

type All<Union> = (Union extends unknown ? (one: Union) => void : never) extends (
  all: infer Intersection,
) => void
  ? Intersection
  : never;

/** The values for the placeholders of a key: `{ id: … }` for `order:<id>`. */
export type LockValues<Key extends string> = string extends Key
  ? Readonly<Record<string, unknown>>
  : [Placeholders<Key>] extends [never]
    ? Readonly<Record<string, never>>
    : All<Placeholders<Key> extends infer Path ? ValueAt<Path & string> : never>;

/**
 * The locks of one template, such as those of all orders. Its type declares the values for the key:
 * `@InjectLock('orders') orders: LockTemplate<'order:<id>'>`.
 */
export interface LockTemplate<Key extends string = string, Kind extends LockKind = 'lock'> {
  readonly key: Key;

  /**
   * Returns the lock of these values. Its calls have the options of the template by default.
   * Nothing is sent to Redis, and nothing is stored.
   * @throws {LockKeyError} a value cannot be part of a name
   */
  get(values: LockValues<Key>): Kind extends 'semaphore' ? Semaphore : Lock;
}

/** Nest's token of the template. */
export function getLockToken(template: string, connection = DEFAULT_NAME): InjectionToken {
  const inFeature = `RedisLockModule.forFeature([{ name: '${template}', … }])`;
  return Symbol.for(`${inFeature} of ${forRootOf(connection)}`);
}

/** Marks a parameter or property that receives the lock template of this name. */
export function InjectLock(
  template: string,
  connection?: string,
): PropertyDecorator & ParameterDecorator {
  return Inject(getLockToken(template, connection));
}

const TEMPLATES = Symbol.for('nestjs-redis-lock:templates');

@Module({})
export class RedisLockFeatureModule {
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    refuseSameTemplate(
      [...modules.values()]
        .filter(({ metatype }) => metatype === RedisLockFeatureModule)
        .flatMap(({ providers }) => providers.get(TEMPLATES)?.instance as LockTemplateOptions[]),
    );
  }
}

/** @throws {LockConfigurationError} a template, or an option, cannot work */
export function featureModule(templates: readonly LockTemplateOptions[]): DynamicModule {
  if (!Array.isArray(templates)) {
    throw new LockConfigurationError(
      `RedisLockModule.forFeature() needs a list of templates, not ${describeValue(templates)}`,
    );
  }
  // A copy has no holes.
  const providers = [...(templates as readonly LockTemplateOptions[])].map(providerOf);
  return {
    module: RedisLockFeatureModule,
    providers: [{ provide: TEMPLATES, useValue: templates }, ...providers],
    exports: providers.map(({ provide }) => provide),
  };
}

function providerOf(template: LockTemplateOptions): FactoryProvider<LockTemplate> {
  const { name, key, ...options } = checkShape(template);
  const where = `RedisLockModule.forFeature(), template ${quoteName(name)}`;
  refuseLookAlikes(key, where, { literally: 'call LockService.get(name)' });
  const nameOf = compileTemplate<object>(key, where, ({ head, path }) => ({
    start: 'the values',
    read: (values) => values,
    path: [head, ...path],
  }));
  const plan = resolvePlan(options, where, isLabel(key) ? key : name);
  const { kind, connection, acquire } = plan;
  return {
    provide: getLockToken(name, connection),
    inject: [
      getLockContextToken(connection),
      getLockServiceToken(LockService, connection),
      getLockServiceToken<KindService>(SERVICE_OF[kind], connection),
    ],
    useFactory: (
      { settings }: LockContext,
      locks: LockService,
      service: KindService,
    ): LockTemplate => {
      checkProfile(plan, settings, where);
      const services = { locks, ofKind: () => service };
      const get = (values: object) =>
        withDefaults(bound(services, kind, nameOf(values)), acquire) as Lock;
      return { key, get };
    },
  };
}

const DECORATORS_ONLY = ['onBusy', 'onBackendError', 'onDisconnect', 'via'];

function checkShape(template: unknown): LockTemplateOptions {
  const from = 'RedisLockModule.forFeature()';
  if (!isPlainObject(template)) {
    throw new LockConfigurationError(
      `${from}: a template must be a plain object, such as { name: 'orders', key: 'order:<id>' }, ` +
        `not ${describeValue(template)}`,
    );
  }
  const { name, key, ...options } = template as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || name === '') {
    throw new LockConfigurationError(
      `${from}: a template needs a name, such as { name: 'orders', key: 'order:<id>' }, ` +
        `not ${describeValue(name)}`,
    );
  }
  if (typeof key !== 'string') {
    throw new LockConfigurationError(
      `${from}: the key of the template ${quoteName(name)} must be a text such as 'order:<id>', ` +
        `not ${describeValue(key)}`,
    );
  }
  if (DECORATORS_ONLY.some((option) => options[option] !== undefined)) {
    throw new LockConfigurationError(
      `${from}: the template ${quoteName(name)} must not have ${DECORATORS_ONLY.join(', ')}; ` +
        'only decorators have them',
    );
  }
  return template as LockTemplateOptions;
}

/** The lock, with default options for its calls. */
function withDefaults<L extends Lock | Semaphore>(lock: L, defaults: AnyAcquireOptions): L {
  const of = (options: AnyAcquireOptions | undefined) => withDefaultOptions(defaults, options);
  const acquire = lock.acquire.bind(lock);
  const tryAcquire = lock.tryAcquire.bind(lock);
  const using: Lock['using'] = lock.using.bind(lock);
  const verbs: Pick<Lock, 'acquire' | 'tryAcquire' | 'using'> = {
    acquire: (options) => acquire(of(options)),
    tryAcquire: (options) => tryAcquire(of(options)),
    using: (work, options) => using(work, of(options)),
  };
  // The lock was made for this call, and no other code has it.
  return Object.assign(lock, verbs);
}

/**
 * Modules may register one template twice, but not two templates with one name.
 * @throws {LockConfigurationError} the message names both keys
 */
function refuseSameTemplate(templates: readonly LockTemplateOptions[]): void {
  const seen = new Map<InjectionToken, LockTemplateOptions>();
  for (const template of templates) {
    const token = getLockToken(template.name, template.connection);
    const other = seen.get(token) ?? template;
    seen.set(token, template);
    if (isDeepStrictEqual(other, template)) continue;
    throw new LockConfigurationError(
      `RedisLockModule.forFeature() has two templates with the name ${quoteName(template.name)}: ` +
        `${quoteName(other.key)} and ${quoteName(template.key)}, or one key with different options`,
    );
  }
}
