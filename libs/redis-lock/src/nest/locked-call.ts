import { AsyncLocalStorage } from 'node:async_hooks';

import { Logger } from '@nestjs/common';
import {
  concat,
  filter,
  from,
  isObservable,
  Observable,
  Subject,
  takeWhile,
  type Subscriber,
} from 'rxjs';

import { LockBackendError, LockConfigurationError, LockTimeoutError } from '../core/api/errors.js';
import { runInScope } from '../core/holding/scope.js';
import type { AcquireOptions } from '../core/api/lock.js';
import type { LockService } from '../primitives/lock/lock-service.js';
import { usable, type LockNames, type LockServices } from './lock-kinds.js';
import type { LockPlan } from './with-lock.options.js';

/** Work that runs under a lock, with the options of its decorator. */
export interface LockedCall {
  /** `where` begins the messages of errors. */
  readonly plan: LockPlan & { readonly where: string; readonly slots?: Slots | undefined };
  /** The arguments of the plan's functions. */
  readonly args: readonly unknown[];
  /** Ends the waiting. */
  readonly signal: AbortSignal | undefined;
  /** Runs when the call has ended. */
  readonly atEnd?: (() => void) | undefined;
  services(): LockServices;
  names(): LockNames;
}

/** Slots of time: the work runs once in each. Each slot has a lock of its own. */
export interface Slots {
  /** How long the lock of a slot stays held after the first call (ms), or the first success. */
  readonly keepMs: number;
  readonly label: string;
  /** The name of the lock of the job's slot of this time, in ms since 1970. */
  readonly at: (job: string, time: number) => string;
}

/** How long the lock stays held for a subscriber to an Observable of a Promise (ms). */
const SUBSCRIBE_WITHIN_MS = 1_000;

async function underLock<T>(
  call: LockedCall,
  work: () => Promise<T>,
  answer: (inPlaceOfWork: unknown) => unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const { plan, args } = call;
  const progress = { hasBegun: false };
  try {
    const names = call.names();
    const begin = () => {
      progress.hasBegun = true;
      return work();
    };
    const services = call.services();
    const lock = usable(services, plan.kind, names);
    const run = () => lock.using(begin, { ...plan.acquire, signal });
    if (plan.slots === undefined) return await run();
    const holdAfter = services.locks.holdAfterOf(plan.acquire);
    return await inSlot(services.locks, { ...plan.slots, holdAfter }, names as string, run);
  } catch (error) {
    // An error of a lock inside the work is the work's own error.
    if (progress.hasBegun) throw error;
    if (error instanceof LockTimeoutError) return await answer(plan.onBusy(args, error));
    if (!(error instanceof LockBackendError)) throw error;
    if (!plan.runsUnlocked) return await answer(plan.onBackendError(args, error));
    new Logger('RedisLock').warn(`${plan.where} runs without its lock: ${error.message}`);
    return await runInScope(undefined, work);
  } finally {
    call.atEnd?.();
  }
}

/**
 * Runs the job under the lock of the present slot, which stays held afterwards. The slot comes
 * before the lock, so that a late call does not block the call of the next slot.
 * @throws {LockTimeoutError} another call holds it
 */
function inSlot<T>(
  locks: LockService,
  slots: Slots & Pick<AcquireOptions, 'holdAfter'>,
  job: string,
  run: () => Promise<T>,
): Promise<Awaited<T>> {
  const { keepMs, holdAfter, label } = slots;
  const kept = { waitTimeMs: 0, minHoldMs: keepMs, holdAfter, label };
  return locks.using(slots.at(job, locks.wallTime()), run, kept);
}

/**
 * Calls the method under the lock, which is released before the promise settles. If the method
 * resolves with an Observable, so does this, and the lock stays held until that Observable ends.
 */
export function lockedPromise(call: LockedCall, method: () => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settled = underLock(
      call,
      async () => {
        const result = await asynchronous(method(), call.plan.where);
        if (!isObservable(result)) return result;
        const handedOver = handOver(call, result, () => settled);
        resolve(handedOver.observable);
        return handedOver.ended;
      },
      (value) => value,
      call.signal,
    );
    settled.then(resolve, reject);
  });
}

/**
 * Returns a cold Observable: every subscription acquires the lock and subscribes to the source
 * under it. On complete, error and unsubscribe it releases the lock. The subscriber sees the end
 * after the release.
 */
export function lockedObservable(call: LockedCall, source: () => unknown): Observable<unknown> {
  return new Observable((subscriber) => {
    const giveUp = new AbortController();
    subscriber.add(() => {
      giveUp.abort();
    });
    const settled = underLock(
      call,
      async () =>
        subscriber.closed ? undefined : pipe(observable(source(), call.plan.where), subscriber),
      (value) => pipe(toObservable(value), subscriber),
      call.signal === undefined ? giveUp.signal : AbortSignal.any([giveUp.signal, call.signal]),
    );
    endWith(subscriber, settled);
  });
}

/**
 * The first subscriber in time uses the lock that is held already. Each further one acquires the
 * lock anew. Without a subscriber in time, the lock is released.
 */
function handOver(
  call: LockedCall,
  source: Observable<unknown>,
  settled: () => Promise<unknown>,
): { readonly observable: Observable<unknown>; readonly ended: Promise<unknown> } {
  const inScope = AsyncLocalStorage.snapshot();
  let isTaken = false;
  let take: (subscriber: Subscriber<unknown>) => void = () => undefined;
  const ended = new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      isTaken = true;
      resolve(undefined);
    }, SUBSCRIBE_WITHIN_MS);
    timer.unref();
    take = (subscriber) => {
      isTaken = true;
      clearTimeout(timer);
      inScope(() => pipe(source, subscriber)).then(resolve, reject);
    };
  });
  const observable = new Observable((subscriber) => {
    if (isTaken) return lockedObservable(call, () => source).subscribe(subscriber);
    take(subscriber);
    endWith(subscriber, settled());
    return undefined;
  });
  return { observable, ended };
}

/** Nest's Observable of the messages of a gRPC client. */
interface Messages extends Observable<unknown> {
  /** Replays what has arrived, once. Nest calls it when the handler has returned. */
  drainBuffer(): void;
}

function isMessages(value: unknown): value is Messages {
  const isBuffer = typeof value === 'object' && value !== null && 'drainBuffer' in value;
  return isBuffer && isObservable(value);
}

/**
 * Keeps the messages of a gRPC client for the method, which subscribes after the grant: Nest has
 * replayed them before. The method's first subscription gets them all.
 * @param args one of them may be the messages, and is replaced
 * @returns ends the keeping. Undefined where there are no messages
 */
export function keepMessages(args: unknown[]): (() => void) | undefined {
  const index = args.findIndex(isMessages);
  if (index === -1) return undefined;
  const source = args[index] as Messages;
  const live = new Subject<unknown>();
  let early: unknown[] | undefined = [];
  const drop = () => {
    early = undefined;
  };
  const isLive = (message: unknown) => {
    early?.push(message);
    return early === undefined;
  };
  source.pipe(filter(isLive)).subscribe(live);
  // At once: until then, Nest delivers each message now and again in its replay.
  source.drainBuffer();
  args[index] = new Observable((subscriber) => {
    const missed = early ?? [];
    drop();
    // Messages arrive outside of the hold, and outside of the request.
    return concat(missed, live).subscribe({
      next: AsyncLocalStorage.bind((message: unknown) => {
        subscriber.next(message);
      }),
      error: AsyncLocalStorage.bind((error: unknown) => {
        subscriber.error(error);
      }),
      complete: AsyncLocalStorage.bind(() => {
        subscriber.complete();
      }),
    });
  });
  return drop;
}

/**
 * Passes values on. Resolves with the last one when the source ends or the subscriber unsubscribes.
 */
function pipe(source: Observable<unknown>, subscriber: Subscriber<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let last: unknown;
    // A source that emits synchronously cannot be unsubscribed from before subscribe() returns.
    const subscription = source.pipe(takeWhile(() => !subscriber.closed)).subscribe({
      next: (value) => {
        last = value;
        subscriber.next(value);
      },
      error: reject,
      complete: () => {
        resolve(last);
      },
    });
    subscriber.add(() => {
      subscription.unsubscribe();
      resolve(last);
    });
  });
}

function endWith(subscriber: Subscriber<unknown>, settled: Promise<unknown>): void {
  settled.then(
    () => {
      subscriber.complete();
    },
    (error: unknown) => {
      subscriber.error(error);
    },
  );
}

function asynchronous(returned: unknown, where: string): PromiseLike<unknown> {
  if (isThenable(returned)) return returned;
  throw new LockConfigurationError(
    isObservable(returned)
      ? `${where} returned an Observable that it does not declare. Write its return type, as in ` +
          'find(): Observable<Item>, and set the compiler option emitDecoratorMetadata'
      : `${where} returned neither a Promise nor an Observable, and acquiring a lock takes time: ` +
          'make the method async',
  );
}

function observable(returned: unknown, where: string): Observable<unknown> {
  if (isObservable(returned)) return returned;
  throw new LockConfigurationError(
    `${where} returned no Observable, although its return type is one`,
  );
}

function toObservable(value: unknown): Observable<unknown> {
  return isObservable(value) ? value : from(Promise.resolve(value));
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Partial<PromiseLike<unknown>>).then === 'function'
  );
}
