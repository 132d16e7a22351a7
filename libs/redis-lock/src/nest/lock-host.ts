import { Inject, Injectable, type InjectionToken, type OnModuleInit } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';

import { LockConfigurationError } from '../core/api/errors.js';
import type { LockSettings } from '../core/api/settings.js';
import type { LockContext } from '../core/lock-context.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { classesOf } from './classes.js';
import { SERVICE_OF, type KindService, type LockServices, type MethodKind } from './lock-kinds.js';
import { forRootOf, getLockContextToken, getLockServiceToken } from './service-tokens.js';
import type { LockPlan } from './with-lock.options.js';

/** The services of frozen instances. */
const servicesOfFrozen = new WeakMap<object, Map<symbol, unknown>>();

/** The object itself. Proxies of instrumentation answer with the object behind. */
const BEHIND: unique symbol = Symbol.for('nestjs-redis-lock:behind') as never;

/** The services that Nest injects into the instances of a prototype. */
const HOSTS = Symbol.for('nestjs-redis-lock:hosts');

interface Host {
  readonly key: symbol;
  readonly token: InjectionToken;
}

/** Nest's own message shows this text when the module is missing. */
function hostOf(connection: string, kind: MethodKind = 'lock'): symbol {
  const what = kind === 'lock' ? '' : `: ${kind}`;
  return Symbol.for(`${forRootOf(connection)} for @WithLock${what}`);
}

/** Finds the services of the application that made an object. */
export type FindServices = (instance: unknown) => LockServices;

/**
 * Makes Nest inject the services of the kind into every instance of the class, in every scope.
 * Without the connection the application does not start.
 * @param where begins the messages of the errors
 * @returns a function that finds them; it throws `LockConfigurationError` for an object that Nest
 * did not make
 */
export function installHost(
  target: object,
  { kind, connection }: Pick<LockPlan, 'kind' | 'connection'>,
  where: string,
): FindServices {
  const [lockHost, kindHost] = [hostOf(connection), hostOf(connection, kind)];
  inject(target, lockHost, getLockServiceToken(LockService, connection));
  inject(target, kindHost, getLockServiceToken<KindService>(SERVICE_OF[kind], connection));
  return (instance) => {
    const host = instance as Readonly<Record<symbol, unknown>> | null | undefined;
    const locks = host?.[lockHost] as LockService | undefined;
    if (locks === undefined) throw notInjected(where);
    return { locks, ofKind: () => host?.[kindHost] as KindService | undefined };
  };
}

function inject(target: object, host: symbol, token: InjectionToken): void {
  // A base class has it already, and its injection is inherited.
  if (host in target) return;
  Object.defineProperty(target, host, {
    configurable: true,
    get(this: object) {
      return servicesOfFrozen.get(this)?.get(host);
    },
    // An own property of the instance: through a proxy it reaches the object behind, which may be
    // the one that the method is called on. Not enumerable: instances are compared and serialised.
    set(this: { readonly [BEHIND]: object }, injected: unknown) {
      const own = { value: injected, configurable: true, writable: true };
      if (Reflect.defineProperty(this, host, own)) return;
      const frozen = this[BEHIND];
      const all = servicesOfFrozen.get(frozen) ?? new Map<symbol, unknown>();
      servicesOfFrozen.set(frozen, all.set(host, injected));
    },
  });
  Object.defineProperty(target, BEHIND, {
    configurable: true,
    get(this: object) {
      return this;
    },
  });
  injectInto(target, host, token);
}

const CHECKS = Symbol.for('nestjs-redis-lock:checks');

/** A check of a class that needs the application. */
type Check = (application: ModuleRef) => void;

/** Checks a decorated method when the application starts, in every scope. */
export function checkAtStart(
  target: object,
  connection: string,
  checkSettings: (settings: LockSettings) => void,
): void {
  const check: Check = (application) => {
    const token = getLockContextToken(connection);
    checkSettings(application.get<LockContext>(token, { strict: false }).settings);
  };
  Reflect.defineMetadata(CHECKS, [...checksOf(target), check], target);
}

function checksOf(target: object): readonly Check[] {
  return (Reflect.getMetadata(CHECKS, target) ?? []) as Check[];
}

/**
 * Makes Nest inject the service into every instance of the prototype, also into those of factories.
 */
export function injectInto(target: object, key: symbol, token: InjectionToken): void {
  Inject(token)(target, key);
  Reflect.defineMetadata(HOSTS, [...hostsOf(target), { key, token }], target);
}

function hostsOf(target: object): readonly Host[] {
  return (Reflect.getMetadata(HOSTS, target) ?? []) as Host[];
}

function notInjected(where: string): LockConfigurationError {
  return new LockConfigurationError(
    `${where}: Nest has not injected the lock service into this object. ` +
      'Causes: made with new, made by a request-scoped or transient factory, called in its ' +
      'constructor, or called without this. Let Nest make the object (useClass), or call ' +
      'LockService.using(name, work)',
  );
}

/**
 * Checks the decorated classes of the application. Nest injects no properties into objects of
 * `useFactory` and `useValue`, so this class does. It runs when all objects are made, and before
 * their own `onModuleInit`.
 */
@Injectable()
export class HostScan implements OnModuleInit {
  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(ModuleRef) private readonly application: ModuleRef,
  ) {}

  onModuleInit(): void {
    for (const { providers } of this.modules.values()) {
      for (const { isNotMetatype, instance } of providers.values()) {
        if (isNotMetatype && isObject(instance)) this.#provide(instance);
      }
    }
    const classes = classesOf(this.modules, 'providers', 'controllers', 'injectables');
    for (const { prototype } of classes) {
      for (const check of checksOf(prototype as object)) check(this.application);
    }
  }

  /** Injects the services into an object that a factory made. */
  #provide(instance: object): void {
    for (const { key, token } of hostsOf(instance)) {
      Reflect.set(instance, key, this.application.get<unknown>(token, { strict: false }));
    }
  }
}

function isObject(instance: unknown): instance is object {
  return typeof instance === 'object' && instance !== null;
}
