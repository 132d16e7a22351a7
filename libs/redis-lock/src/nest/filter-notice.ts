import { Inject, Injectable, Logger, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import {
  ApplicationConfig,
  HttpAdapterHost,
  MetadataScanner,
  ModulesContainer,
} from '@nestjs/core';

import { LockError } from '../core/api/errors.js';
import { classesOf, isClass } from './classes.js';

/** Nest's own keys for the arguments of `@UseFilters` and `@Catch`, in all its versions. */
const USED_FILTERS = '__exceptionFilters__';
const CAUGHT = '__filterCatchExceptions__';

/** The applications that were checked: one may have several connections. */
const seen = new WeakSet<ModulesContainer>();

/** Logs a warning at the start if no exception filter catches the errors of locks. */
@Injectable()
export class FilterNotice implements OnApplicationBootstrap {
  constructor(
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
    @Inject(ApplicationConfig) private readonly config: ApplicationConfig,
    @Inject(HttpAdapterHost) private readonly http: Partial<HttpAdapterHost>,
  ) {}

  /** Nest ignores filters that are registered after this: its routes are made. */
  onApplicationBootstrap(): void {
    if (seen.has(this.modules)) return;
    seen.add(this.modules);
    const answersHttp = this.http.httpAdapter && classesOf(this.modules, 'controllers').length > 0;
    if (!answersHttp || this.#filters().some(catchesLockErrors)) return;
    new Logger('RedisLock').log(
      'No exception filter catches lock errors: HTTP requests get 500 instead of 423 for a busy lock. ' +
        'Add { provide: APP_FILTER, useClass: LockExceptionFilter } to the providers of a module',
    );
  }

  /** Instances and classes. */
  #filters(): unknown[] {
    const requestScoped = this.config.getGlobalRequestFilters().map(({ metatype }) => metatype);
    const used = classesOf(this.modules, 'controllers', 'providers').flatMap(filtersOn);
    return [...this.config.getGlobalFilters(), ...requestScoped, ...used];
  }
}

/** The filters that `@UseFilters` has put on a class and on its methods. */
function filtersOn(target: Type): unknown[] {
  const prototype = target.prototype as object;
  const methods = new MetadataScanner()
    .getAllMethodNames(prototype)
    .map((name): unknown => Reflect.get(prototype, name));
  return [target, ...methods].flatMap(
    (place) => (Reflect.getMetadata(USED_FILTERS, place as object) ?? []) as unknown[],
  );
}

/** A filter without `@Catch` arguments catches everything. */
function catchesLockErrors(filter: unknown): boolean {
  const type: unknown = typeof filter === 'function' ? filter : filter?.constructor;
  const caught = (Reflect.getMetadata(CAUGHT, type as object) ?? []) as unknown[];
  return caught.length === 0 || caught.filter(isClass).some(isAmongLockErrors);
}

/** A filter for one lock error counts too: its application has chosen it on purpose. */
function isAmongLockErrors({ prototype }: Type): boolean {
  const isOne = prototype === LockError.prototype || prototype instanceof LockError;
  return isOne || Object.prototype.isPrototypeOf.call(prototype as object, LockError.prototype);
}
