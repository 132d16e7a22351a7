import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, UseFilters } from '@nestjs/common';
import {
  CurrentLock,
  LockBackendError,
  LockExceptionFilter,
  LockKeyError,
  LockService,
  LockStateError,
  LockTimeoutError,
  WithLock,
} from 'nestjs-redis-lock';
import { lastValueFrom, Observable, of } from 'rxjs';
import { redisson, useRealRedis } from '../support/set-up.js';
import { useApplications } from './applications.js';

const redis = useRealRedis();
const apps = useApplications(redis);

@Injectable()
class Stock {
  runs = 0;
  readonly inner = new LockBackendError('inner', { retryable: true, outcome: 'none' });

  @WithLock('a', { waitTimeMs: 0, onBackendError: 'run' })
  async open(): Promise<string> {
    this.runs += 1;
    expect(() => CurrentLock.lease()).toThrow(LockStateError);
    expect(CurrentLock.find()).toBeUndefined();
    return 'ran';
  }

  constructor(private readonly locks: LockService) {}

  /** Its body must not take the lock around the call for its own. */
  async inside(): Promise<string> {
    return this.locks.using('b', () =>
      withoutRedis(async () => {
        const ran = await this.open();
        CurrentLock.lease().assertHeld();
        expect(CurrentLock.find('b')).toBe(CurrentLock.lease());
        return ran;
      }),
    );
  }

  @WithLock('a', { waitTimeMs: 0, onBackendError: 'run' })
  opened(): Observable<string> {
    this.runs += 1;
    return of('ran');
  }

  @WithLock('<0>', {
    waitTimeMs: 0,
    onBackendError: (args, error) => [...args, error.code],
  })
  async answered(id: string): Promise<unknown> {
    this.runs += 1;
    return id;
  }

  @WithLock('a', { waitTimeMs: 0, onBackendError: () => of('instead') })
  observed(): Observable<string> {
    this.runs += 1;
    return of('ran');
  }

  @WithLock('a', { onBackendError: 'run' })
  async throwing(): Promise<void> {
    this.runs += 1;
    throw this.inner;
  }
}

@Controller()
@UseFilters(LockExceptionFilter)
class Web {
  runs = 0;

  @Get('closed')
  @WithLock('a', { via: 'interceptor', waitTimeMs: 0 })
  async closed(): Promise<void> {
    this.runs += 1;
  }

  @Get('open')
  @WithLock('a', { via: 'interceptor', waitTimeMs: 0, onBackendError: 'run' })
  async open(): Promise<string> {
    this.runs += 1;
    return 'ran';
  }
}

const withoutRedis = <T>(work: () => Promise<T>) => redis.without(['evalsha', 'eval'], work);

const started = async () => {
  const app = await apps.start({ providers: [Stock], controllers: [Web] });
  return { app, stock: app.nest.get(Stock), web: app.nest.get(Web) };
};

describe('onBackendError', () => {
  it('runs the method without the lock where it says so, and only there', async () => {
    const { app, stock, web } = await started();
    await withoutRedis(async () => {
      expect(await stock.open()).toBe('ran');
      expect(await lastValueFrom(stock.opened())).toBe('ran');
      expect(await (await app.request('/open')).text()).toBe('ran');
      const closed = await app.request('/closed');
      expect([closed.status, closed.headers.get('retry-after')]).toEqual([503, '5']);
    });
    expect([stock.runs, web.runs]).toEqual([2, 1]);
  });

  it('runs it without any lock of its own, inside of another one too', async () => {
    const { stock } = await started();
    expect(await stock.inside()).toBe('ran');
  });

  it('answers in place of the method', async () => {
    const { stock } = await started();
    await withoutRedis(async () => {
      expect(await stock.answered('7')).toEqual(['7', 'LOCK_BACKEND']);
      expect(await lastValueFrom(stock.observed())).toBe('instead');
    });
    expect(stock.runs).toBe(0);
  });

  it('never opens a busy lock, nor one whose name cannot be made', async () => {
    const { stock } = await started();
    await redisson.tryLock(redis.admin, 'a');
    await expect(stock.open()).rejects.toThrow(LockTimeoutError);
    await redisson.unlock(redis.admin, 'a');
    await expect(stock.answered('')).rejects.toThrow(LockKeyError);
    expect(stock.runs).toBe(0);
  });

  it('has no say about what the method itself ran into', async () => {
    const { stock } = await started();
    await expect(stock.throwing()).rejects.toBe(stock.inner);
    expect(stock.runs).toBe(1);
  });
});
