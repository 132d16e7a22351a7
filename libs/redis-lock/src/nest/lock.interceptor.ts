import {
  Inject,
  Injectable,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Observable } from 'rxjs';

import { LockConfigurationError, quoteName } from '../core/api/errors.js';
import { LockService } from '../primitives/lock/lock-service.js';
import { compileTemplate, refuseLookAlikes } from './key-template.js';
import { disconnectOf } from './leaving-clients.js';
import { injectInto } from './lock-host.js';
import type { DecoratedMethod } from './lock-key.js';
import { SERVICE_OF, type KindService, type LockNames, type LockServices } from './lock-kinds.js';
import { namesFrom } from './lock-names.js';
import { keepMessages, lockedObservable } from './locked-call.js';
import { NAMED_CONNECTION } from './named-connections.js';
import { forRootOf, getLockServiceToken } from './service-tokens.js';
import type { LockPlan } from './with-lock.options.js';

const PLAN = Symbol.for('nestjs-redis-lock:interceptor-plan');

interface InterceptorPlan extends LockPlan {
  readonly where: string;
  namesOf(context: ExecutionContext): LockNames;
}

/**
 * Runs the handlers that are marked by `@WithLock(key, { via: 'interceptor' })` under their locks;
 * other handlers run as they are. The decorator applies the interceptor by itself.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  /** One entry for each connection. */
  readonly #services = new Map<string, LockServices>();

  constructor(@Inject(ModuleRef) private readonly modules: ModuleRef) {
    try {
      modules.get(NAMED_CONNECTION, { strict: false });
    } catch {
      throw new LockConfigurationError('LockInterceptor needs RedisLockModule.forRoot()');
    }
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const plan = planOf(context.getHandler());
    if (plan === undefined) return next.handle();
    const call = {
      ...{ plan, args: [context], atEnd: keepMessages(context.getArgs<unknown[]>()) },
      signal: plan.onDisconnect === 'cancel' ? disconnectOf(context) : undefined,
      services: () => this.#servicesOf(plan.connection),
      names: () => plan.namesOf(context),
    };
    return lockedObservable(call, () => next.handle());
  }

  #servicesOf(connection: string): LockServices {
    const known = this.#services.get(connection);
    if (known !== undefined) return known;
    const anywhere = { strict: false };
    const services: LockServices = {
      locks: this.modules.get<LockService>(getLockServiceToken(LockService, connection), anywhere),
      ofKind: (kind) =>
        this.modules.get(getLockServiceToken<KindService>(SERVICE_OF[kind], connection), anywhere),
    };
    this.#services.set(connection, services);
    return services;
  }
}

/** Stores the plan for the interceptor, and checks later that the interceptor runs. */
export function interceptByPlan(
  decorated: DecoratedMethod,
  method: object,
  plan: InterceptorPlan,
): void {
  if (planOf(method) !== undefined) {
    throw new LockConfigurationError(
      `${plan.where}: a handler can have one lock via the interceptor`,
    );
  }
  Reflect.defineMetadata(PLAN, plan, method);
  checkWhenInjected(decorated, plan);
}

/** The marks that Nest's packages leave on methods with interceptors. */
const HANDLER_MARKS = ['path', 'microservices:pattern', 'message', 'graphql:resolver_type'];

/**
 * Interceptors run for handlers only: any other method would run without its lock, and without an
 * error. All decorators of the class have run when Nest injects into the first instance.
 */
function checkWhenInjected(
  { target, property }: DecoratedMethod,
  { where, connection, kind }: InterceptorPlan,
): void {
  const injected = Symbol.for(`${forRootOf(connection)} for ${where}`);
  Object.defineProperty(target, injected, {
    configurable: true,
    set() {
      const method = Reflect.get(target, property) as object;
      if (!HANDLER_MARKS.some((mark) => Reflect.hasMetadata(mark, method))) {
        throw new LockConfigurationError(
          `${where}: Nest runs interceptors for request handlers only, and this method is none; ` +
            "remove via: 'interceptor'",
        );
      }
      if (planOf(method) !== undefined) return;
      throw new LockConfigurationError(
        `${where}: a decorator above replaced the method, so no interceptor runs; ` +
          "put this one on top, or remove via: 'interceptor'",
      );
    },
  });
  injectInto(target, injected, getLockServiceToken<KindService>(SERVICE_OF[kind], connection));
}

function planOf(method: object): InterceptorPlan | undefined {
  return Reflect.getMetadata(PLAN, method) as InterceptorPlan | undefined;
}

const REQUEST_PARTS = ['params', 'query', 'body'] as const;

type Request = Readonly<Partial<Record<(typeof REQUEST_PARTS)[number], unknown>>>;

/**
 * The function that makes the lock names from the interceptor's context.
 * @throws {LockConfigurationError} a placeholder that is no part of a request
 */
export function namesFromContext(
  key: unknown,
  where: string,
  mayBeSeveral: boolean,
): (context: ExecutionContext) => LockNames {
  const maker = {
    fill: (template: string) => nameFromRequest(template, where),
    call: (fn: (context: ExecutionContext) => unknown, context: ExecutionContext) => fn(context),
    forms:
      "a template such as 'product_<params.id>', several templates, or a function (context) => string",
  };
  return namesFrom<ExecutionContext>(key, where, maker, mayBeSeveral);
}

function nameFromRequest(template: string, where: string): (context: ExecutionContext) => string {
  const literally = `a function, () => ${quoteName(template)}`;
  refuseLookAlikes(template, where, { path: 'params.', literally });
  return compileTemplate(template, where, ({ text, head, path }) => {
    const part = REQUEST_PARTS.find((name) => name === head);
    if (part === undefined || path.length === 0) {
      throw new LockConfigurationError(
        `${where}: <${text}> is no part of a request; use <params.x>, <query.x> or <body.x>, ` +
          'or a function (context) => string',
      );
    }
    return { start: part, path, read: (context) => requestOf(context, where)[part] };
  });
}

function requestOf(context: ExecutionContext, where: string): Request {
  if (context.getType() === 'http') return context.switchToHttp().getRequest<Request>();
  throw new LockConfigurationError(
    `${where}: only HTTP has params, query and body; make the key a function of the context`,
  );
}
