import type { EventEmitter } from 'node:events';

import {
  HttpException,
  Inject,
  Injectable,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import type { Observable } from 'rxjs';

import { presentRequest, runForRequest } from '../core/holding/scope.js';
import { hasMethods } from '../core/api/shapes.js';
import { classesOf } from './classes.js';

/** The parts in use of Node's responses, of HTTP/1 and HTTP/2. */
interface NativeResponse extends EventEmitter {
  readonly writableEnded: boolean;
  readonly destroyed?: boolean;
  /** HTTP/2 has the state there. */
  readonly stream?: { readonly destroyed: boolean };
}

/** Fields of one request of GraphQL share a response. */
const signals = new WeakMap<NativeResponse, AbortSignal>();

/**
 * Aborts when the client of a request closes the connection before the answer. Undefined where no
 * such connection exists. nginx writes 499 for such a request, and Nest does not log it as an error.
 */
export function disconnectOf(context: ExecutionContext): AbortSignal | undefined {
  const response = responseOf(context);
  if (response === undefined) return undefined;
  const known = signals.get(response);
  if (known !== undefined) return known;
  const leaving = new AbortController();
  const leave = () => {
    if (response.writableEnded) return;
    leaving.abort(new HttpException('The client has closed the request', 499));
  };
  const hasLeft = response.destroyed ?? response.stream?.destroyed ?? false;
  if (hasLeft) leave();
  else response.once('close', leave);
  signals.set(response, leaving.signal);
  return leaving.signal;
}

function responseOf(context: ExecutionContext): NativeResponse | undefined {
  const given = givenResponse(context) as { readonly raw?: unknown } | null | undefined;
  const response = given?.raw ?? given;
  return isNative(response) ? response : undefined;
}

function givenResponse(context: ExecutionContext): unknown {
  if (context.getType() === 'http') return context.switchToHttp().getResponse();
  if (context.getType<string>() !== 'graphql') return undefined;
  const graphql = context.getArgByIndex<{ res?: unknown; reply?: unknown } | undefined>(2);
  return graphql?.res ?? graphql?.reply;
}

function isNative(response: unknown): response is NativeResponse {
  return hasMethods(response, 'once', 'writeHead');
}

const WAITING = Symbol.for('nestjs-redis-lock:waiting-for-client');

/** The request of a handler, and its decorators that have not waited yet. */
class HandlerRequest {
  constructor(
    readonly signal: AbortSignal,
    private readonly waiting: Set<object>,
  ) {}

  /** Whether the decorator has not waited yet. */
  take(decorator: object): boolean {
    return this.waiting.delete(decorator);
  }

  /** Runs the work of a decorator, which may be that of the decorator below. */
  run<T>(work: () => T): T {
    return this.waiting.size === 0 ? work() : runForRequest(this, work);
  }
}

/** Lets this decorator of a handler know of the request, by `takeRequest`. */
export function giveUpWithClient(method: object, decorator: object): void {
  Reflect.defineMetadata(WAITING, [...decoratorsOf(method), decorator], method);
}

function decoratorsOf(method: object): readonly object[] {
  return (Reflect.getMetadata(WAITING, method) ?? []) as object[];
}

/**
 * The request that calls the handler of this decorator. Undefined for any other call: work that has
 * begun does not end because a client leaves.
 */
export function takeRequest(decorator: object): HandlerRequest | undefined {
  const request = presentRequest();
  return request instanceof HandlerRequest && request.take(decorator) ? request : undefined;
}

const PASS_ON: NestInterceptor = {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const signal = disconnectOf(context);
    if (signal === undefined) return next.handle();
    const request = new HandlerRequest(signal, new Set(decoratorsOf(context.getHandler())));
    return request.run(() => next.handle());
  },
};

/** The marks of HTTP routes, and of resolvers. */
const MARKS = ['path', 'graphql:resolver_type'];

/** Several applications may have one class. */
const found = new WeakSet();

/**
 * Passes the request on to the decorators of its handler. A decorator is not an interceptor itself
 * for other methods: Nest would then delay their messages, too.
 */
@Injectable()
export class LeavingClients {
  /** Nest makes its routes later, from the metadata that this adds. */
  constructor(@Inject(ModulesContainer) modules: ModulesContainer) {
    const names = new MetadataScanner();
    for (const { prototype } of classesOf(modules, 'controllers', 'providers')) {
      for (const name of names.getAllMethodNames(prototype as object)) {
        const value = Reflect.get(prototype as object, name) as object;
        if (found.has(value) || decoratorsOf(value).length === 0) continue;
        if (!MARKS.some((mark) => Reflect.hasMetadata(mark, value))) continue;
        found.add(value);
        UseInterceptors(PASS_ON)(prototype as object, name, { value });
      }
    }
  }
}
