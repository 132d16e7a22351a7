import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  Sse,
  type MessageEvent,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  CurrentLock,
  LeaseLostError,
  LockConfigurationError,
  LockKey,
  LockService,
  LockTimeoutError,
  WithLock,
} from 'nestjs-redis-lock';
import { Readable } from 'node:stream';
import {
  concat,
  defer,
  EMPTY,
  firstValueFrom,
  lastValueFrom,
  NEVER,
  Observable,
  of,
  range,
  Subject,
  Subscription,
  take,
  throwError,
  toArray,
} from 'rxjs';
import { eventually, redisson, Section, useRealRedis } from '../support/set-up.js';
import { SILENT, useApplications } from './applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

async function provided<T extends object>(provider: Type<T>): Promise<T> {
  const app = await apps.start({ providers: [provider] });
  return app.nest.get(provider);
}

const isHeld = async (key = 'feed') => (await redis.admin.exists(key)) === 1;

const eventuallyHeld = (held: boolean, key?: string) =>
  eventually(async () => (await isHeld(key)) === held);

/** Emitted as Object. */
type UnknownToTheCompiler = Promise<number> & Partial<Observable<number>>;

@Injectable()
class Feed {
  calls = 0;
  readonly failure = new Error('broken');
  readonly source = new Subject<number>();

  @WithLock('feed')
  numbers(): Observable<number> {
    this.calls += 1;
    return of(1, 2, 3);
  }

  @WithLock('feed')
  fails(): Observable<number> {
    return concat(
      of(1),
      throwError(() => this.failure),
    );
  }

  @WithLock('feed')
  throws(): Observable<number> {
    throw this.failure;
  }

  @WithLock('feed')
  subject(): Observable<number> {
    this.calls += 1;
    return this.source;
  }

  @WithLock('feed')
  endless(): Observable<number> {
    return range(0, Infinity);
  }

  @WithLock('feed')
  lease(): Observable<string> {
    const outside = CurrentLock.lease().name;
    return defer(() => of(outside, CurrentLock.lease().name));
  }

  @WithLock('feed', { waitTimeMs: 0 })
  impatient(): Observable<number> {
    this.calls += 1;
    return of(1);
  }

  @WithLock('feed', { waitTimeMs: 0, onBusy: 'skip' })
  skipping(): Observable<number | undefined> {
    this.calls += 1;
    return of(1);
  }

  @WithLock('feed_<id>', { waitTimeMs: 0, onBusy: ([id]: [string]) => of('busy', id) })
  answering(@LockKey('id') id: string): Observable<string> {
    this.calls += 1;
    return of(id);
  }

  @WithLock('feed')
  liar(): Observable<number> {
    return Promise.resolve(1) as unknown as Observable<number>;
  }

  @WithLock('feed')
  async iterator(): Promise<AsyncIterable<number>> {
    await Promise.resolve();
    return Readable.from([1]);
  }

  @WithLock('feed')
  undeclared(): UnknownToTheCompiler {
    return of(1) as unknown as UnknownToTheCompiler;
  }

  @WithLock('feed')
  async promised(): Promise<Observable<number>> {
    this.calls += 1;
    await Promise.resolve();
    return this.source;
  }

  @WithLock('feed')
  async promisedLease(): Promise<Observable<string>> {
    await Promise.resolve();
    return defer(() => of(CurrentLock.lease().name));
  }
}

describe('a method that returns an Observable', () => {
  it('is cold: every subscription takes the lock, and then calls it', async () => {
    const feed = await provided(Feed);
    const numbers = feed.numbers();
    expect(numbers).toBeInstanceOf(Observable);
    expect([feed.calls, await isHeld()]).toEqual([0, false]);
    expect(await lastValueFrom(numbers.pipe(toArray()))).toEqual([1, 2, 3]);
    expect(await lastValueFrom(numbers.pipe(toArray()))).toEqual([1, 2, 3]);
    expect([feed.calls, await isHeld()]).toEqual([2, false]);
  });

  it('holds the lock until it completes', async () => {
    const feed = await provided(Feed);
    const values: number[] = [];
    const done = new Promise<void>((resolve) => {
      feed.subject().subscribe({ next: (value) => values.push(value), complete: resolve });
    });
    await eventually(() => feed.source.observed);
    feed.source.next(1);
    expect([values, await isHeld()]).toEqual([[1], true]);
    feed.source.complete();
    await done;
    expect(await isHeld()).toBe(false);
  });

  it('releases when it fails, and passes its error on', async () => {
    const feed = await provided(Feed);
    for (const failing of [feed.fails(), feed.throws()]) {
      await expect(lastValueFrom(failing)).rejects.toBe(feed.failure);
      expect(await isHeld()).toBe(false);
    }
  });

  it('releases when its subscriber leaves', async () => {
    const feed = await provided(Feed);
    const subscription = feed.subject().subscribe();
    await eventually(() => feed.source.observed);
    subscription.unsubscribe();
    expect(feed.source.observed).toBe(false);
    await eventuallyHeld(false);
    expect(await lastValueFrom(feed.endless().pipe(take(3), toArray()))).toEqual([0, 1, 2]);
    await eventuallyHeld(false);
  });

  it('is not called when its subscriber leaves while it waits', async () => {
    const feed = await provided(Feed);
    await redisson.tryLock(redis.admin, 'feed');
    const subscription = feed.subject().subscribe();
    await eventually(async () => (await redis.wakeUpChannels()).length === 1);
    subscription.unsubscribe();
    await eventually(async () => ((await redis.admin.pubsub('CHANNELS')) as string[]).length === 0);
    await redisson.unlock(redis.admin, 'feed');
    expect(await lastValueFrom(feed.numbers())).toBe(3);
    expect(feed.calls).toBe(1);
  });

  it('is not called when its subscriber leaves at the moment of the grant', async () => {
    const leaving = { subscription: new Subscription() };
    const granted = new Subject<void>();
    const using = async (_: string, work: () => unknown) => {
      await Promise.resolve();
      leaving.subscription.unsubscribe();
      await work();
      granted.complete();
    };
    @Module({ providers: [Feed, { provide: LockService, useValue: { using } }] })
    class App {}
    const feed = (await NestFactory.createApplicationContext(App, SILENT)).get(Feed);
    leaving.subscription = feed.subject().subscribe();
    await lastValueFrom(granted, { defaultValue: undefined });
    expect(feed.calls).toBe(0);
  });

  it('runs alone', async () => {
    const section = new Section();
    @Injectable()
    class Stock {
      @WithLock('feed')
      buy(): Observable<string> {
        return defer(() => section.run(() => redis.admin.ping()));
      }
    }
    const stock = await provided(Stock);
    await Promise.all(Array.from({ length: 10 }, () => lastValueFrom(stock.buy())));
    expect([section.entries, section.most]).toEqual([10, 1]);
  });

  it('knows its lease, in the method and in the subscription', async () => {
    const feed = await provided(Feed);
    expect(await lastValueFrom(feed.lease().pipe(toArray()))).toEqual(['feed', 'feed']);
  });

  it('fails with LeaseLostError and its last value when the lease was lost', async () => {
    const feed = await provided(Feed);
    const ending = lastValueFrom(feed.subject()).catch((error: unknown) => error);
    await eventually(() => feed.source.observed);
    await redis.admin.del('feed');
    feed.source.next(7);
    feed.source.complete();
    expect(await ending).toBeInstanceOf(LeaseLostError);
    expect(await ending).toMatchObject({ result: 7 });
  });

  it('asks onBusy', async () => {
    const feed = await provided(Feed);
    await redisson.tryLock(redis.admin, 'feed');
    await redisson.tryLock(redis.admin, 'feed_7');
    await expect(lastValueFrom(feed.impatient())).rejects.toThrow(LockTimeoutError);
    expect(await lastValueFrom(feed.skipping().pipe(toArray()))).toEqual([undefined]);
    expect(await lastValueFrom(feed.answering('7').pipe(toArray()))).toEqual(['busy', '7']);
    expect(feed.calls).toBe(0);
  });

  it('fails when it returns something else, or did not declare it', async () => {
    const feed = await provided(Feed);
    await expect(lastValueFrom(feed.liar())).rejects.toThrow(LockConfigurationError);
    const undeclared = feed.undeclared();
    await expect(undeclared).rejects.toThrow(LockConfigurationError);
    await expect(undeclared).rejects.toThrow('returned an Observable that it does not declare');
    expect(await isHeld()).toBe(false);
  });

  it('fails when it resolves with an iterator, which nothing has read yet', async () => {
    const feed = await provided(Feed);
    await expect(feed.iterator()).rejects.toThrow('returned an iterator or a stream');
    expect(await isHeld()).toBe(false);
  });
});

describe('a method that resolves with an Observable', () => {
  it('holds the lock until that ends', async () => {
    const feed = await provided(Feed);
    const promised = await feed.promised();
    const values: number[] = [];
    const done = new Promise<void>((resolve) => {
      promised.subscribe({ next: (value) => values.push(value), complete: resolve });
    });
    expect(await isHeld()).toBe(true);
    feed.source.next(1);
    feed.source.complete();
    await done;
    expect([values, await isHeld()]).toEqual([[1], false]);
  });

  it('holds it for the subscriber, who may leave', async () => {
    const feed = await provided(Feed);
    const subscription = (await feed.promised()).subscribe();
    expect([feed.source.observed, await isHeld()]).toEqual([true, true]);
    subscription.unsubscribe();
    await eventuallyHeld(false);
  });

  it('knows its lease in the subscription', async () => {
    const feed = await provided(Feed);
    expect(await lastValueFrom(await feed.promisedLease())).toBe('feed');
  });

  it('does not keep the lock for a subscriber that never comes; a late one takes it anew', async () => {
    const feed = await provided(Feed);
    const promised = await feed.promised();
    await eventuallyHeld(false);
    expect(feed.source.observed).toBe(false);
    const subscription = promised.subscribe();
    await eventually(() => feed.source.observed);
    expect([await isHeld(), feed.calls]).toEqual([true, 1]);
    subscription.unsubscribe();
  });

  it('takes the lock anew for a second subscriber', async () => {
    const feed = await provided(Feed);
    const promised = await feed.promised();
    const first = promised.subscribe();
    const second = firstValueFrom(promised);
    feed.source.next(1);
    first.unsubscribe();
    await eventually(() => feed.source.observed);
    expect(await isHeld()).toBe(true);
    feed.source.next(2);
    expect(await second).toBe(2);
  });

  it('fails with LeaseLostError when the lease was lost', async () => {
    const feed = await provided(Feed);
    const ending = lastValueFrom(await feed.promised()).catch((error: unknown) => error);
    await redis.admin.del('feed');
    feed.source.next(7);
    feed.source.complete();
    expect(await ending).toMatchObject({ name: 'LeaseLostError', result: 7 });
  });
});

describe('in a controller', () => {
  @Controller('feed')
  class FeedController {
    static readonly left = new Subject<void>();

    @Get('one/:id')
    @WithLock('feed_<id>')
    show(@Param('id') id: string): Observable<string> {
      return of(CurrentLock.lease().name);
    }

    @Sse('events')
    @WithLock('events')
    events(): Observable<MessageEvent> {
      return concat(of({ data: 'first' }), NEVER);
    }

    @Get('busy/:id')
    @WithLock('busy', { waitTimeMs: 0, onBusy: 'skip' })
    busy(): Observable<string | undefined> {
      return EMPTY;
    }
  }

  it('answers with its value', async () => {
    const app = await apps.start({ controllers: [FeedController] });
    expect(await (await app.request('/feed/one/7')).text()).toBe('feed_7');
  });

  it('answers with nothing when it is skipped', async () => {
    const app = await apps.start({ controllers: [FeedController] });
    await redisson.tryLock(redis.admin, 'busy');
    const response = await app.request('/feed/busy/7');
    expect([response.status, await response.text()]).toEqual([200, '']);
  });

  it('holds the lock of a stream until its client hangs up', async () => {
    const app = await apps.start({ controllers: [FeedController] });
    const client = new AbortController();
    const response = await app.request('/feed/events', { signal: client.signal });
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.includes('first')) break;
    }
    expect(await isHeld('events')).toBe(true);
    client.abort();
    await eventuallyHeld(false, 'events');
  });
});
