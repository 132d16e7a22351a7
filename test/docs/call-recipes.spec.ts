import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { LockExceptionFilter, type LockEvent, type LockTimeoutError } from 'nestjs-redis-lock';
import { SILENT, useApplications, type RunningApp } from '../nest/applications.js';
import { eventually, Gate, useRealRedis, watch } from '../support/set-up.js';
import { Checkout, PaymentProvider, Payments } from './examples/recipes/charge-once.js';
import { OrderController } from './examples/recipes/dto.js';
import { Orders, Stock } from './examples/recipes/forms.js';
import { LoginCodes, Sms } from './examples/recipes/keep.js';
import { CartController, LoginGuard, Sessions } from './examples/recipes/user.js';

const redis = useRealRedis();
const kept: RunningApp[] = [];
// A lock that is kept is still there when its application has gone.
afterEach(async () => {
  await Promise.all(kept.splice(0).map(({ nest }) => nest.close()));
  await redis.admin.flushall();
});
const apps = useApplications(redis);

const FORMS = ['decorated', 'using', 'awaitUsing', 'byHand'] as const;

describe('each way to hold a lock', () => {
  const error = new Error('the work failed');
  let work: () => Promise<void>;
  let lost: string[];
  let app: RunningApp;
  let orders: Orders;
  const start = async (options = {}) => {
    lost = [];
    const observer = {
      observe(event: LockEvent) {
        if (event.type === 'lost') lost.push(event.name);
      },
    };
    const providers = [Orders, { provide: Stock, useValue: { take: () => work() } }];
    app = await apps.start({ providers }, { observer, ...options });
    orders = app.nest.get(Orders);
    app.nest.useLogger(false);
  };
  /** The watchdog notices a loss soon. */
  const startToLose = () => start({ watchdogLeaseMs: 2_000 });
  const isHeld = () => redis.admin.exists('product_A').then(Boolean);
  const lose = async () => {
    await redis.admin.del('product_A');
    await eventually(() => lost.includes('product_A'));
  };

  it.each(FORMS)('holds it for the work, and releases it: %s', async (form) => {
    await start();
    const seen: boolean[] = [];
    work = async () => void seen.push(await isHeld());
    await orders[form]('A');
    expect([seen, await isHeld()]).toEqual([[true], false]);
  });

  it.each(FORMS)(
    'releases it after work that fails, whose error it passes on: %s',
    async (form) => {
      await start();
      work = () => Promise.reject(error);
      await expect(orders[form]('A')).rejects.toBe(error);
      expect(await isHeld()).toBe(false);
    },
  );

  it.each(FORMS)(
    'rejects if another caller holds it, and the work does not run: %s',
    async (form) => {
      await start({ waitTimeMs: 0 });
      work = jest.fn<typeof work>();
      const lease = await app.locks.acquire('product_A');
      await expect(orders[form]('A')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(work).not.toHaveBeenCalled();
      await lease.release();
    },
  );

  it.each(FORMS)('rejects if it was lost while the work ran: %s', async (form) => {
    await startToLose();
    work = lose;
    await expect(orders[form]('A')).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('without assertHeld(), await using reports no loss', async () => {
    await startToLose();
    const block = async () => {
      await using lease = await app.locks.acquire('product_A');
      await lose();
      return lease.state;
    };
    expect(await block()).toBe('lost');
  });

  it.each(['decorated', 'using', 'awaitUsing'] as const)(
    'passes on the error of work that lost it: %s',
    async (form) => {
      await startToLose();
      work = async () => {
        await lose();
        throw error;
      };
      await expect(orders[form]('A')).rejects.toBe(error);
    },
  );

  it('by hand, the loss replaces the error of the work', async () => {
    await startToLose();
    work = async () => {
      await lose();
      throw error;
    };
    await expect(orders.byHand('A')).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });
});

describe('settings from ConfigService', () => {
  const start = async (env: Record<string, string | undefined>) => {
    const before = { ...process.env };
    Object.assign(process.env, env);
    if (env['REDIS_URL'] === undefined) delete process.env['REDIS_URL'];
    try {
      const { AppModule } = await import('./examples/recipes/config.js');
      return await apps.add(await NestFactory.create(AppModule, SILENT));
    } finally {
      process.env = before;
    }
  };

  it('come from the environment', async () => {
    const { locks } = await start({ REDIS_URL: redis.url });
    await locks.using('order_1', async () => {
      expect(await redis.admin.exists('order_1')).toBe(1);
    });
    const wrong = start({ REDIS_URL: redis.url, CHECKOUT_WAIT_MS: '-1' });
    await expect(wrong).rejects.toThrow(/waitTimeMs.*-1/);
  });

  it('prevent the start without an address', async () => {
    await expect(start({ REDIS_URL: undefined })).rejects.toThrow('REDIS_URL');
  });
});

describe('a request', () => {
  const filter = { provide: APP_FILTER, useClass: LockExceptionFilter };
  const post = (app: RunningApp, path: string, init: RequestInit = {}) =>
    app.request(path, { method: 'POST', ...init });
  const json = (body: object) => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const namesOf = () => {
    const names: string[] = [];
    const observe = (event: { type: string; name?: string }) => {
      if (event.type === 'acquired') names.push(String(event.name));
    };
    return { names, observer: { observe } };
  };

  it('locks by a parameter and a property of the DTO beside it', async () => {
    const { names, observer } = namesOf();
    const metadata = { controllers: [OrderController], providers: [filter] };
    const app = await apps.start(metadata, { observer });
    const answer = await post(app, '/shops/7/orders', json({ sku: 'tea', pieces: 2 }));
    expect(await answer.text()).toBe('7 sells 2 of tea');
    expect(names).toEqual(['product_7_tea']);
    expect((await post(app, '/shops/7/orders', json({ pieces: 2 }))).status).toBe(400);
  });

  it('locks by the user whom the guard has found', async () => {
    const { names, observer } = namesOf();
    const sessions = {
      userOf: async (its?: string) => (its === 'of ann' ? { id: 'ann' } : undefined),
    };
    const providers = [LoginGuard, { provide: Sessions, useValue: sessions }];
    const app = await apps.start({ controllers: [CartController], providers }, { observer });
    const answer = await post(app, '/cart/orders', { headers: { authorization: 'of ann' } });
    expect(await answer.text()).toBe('the cart of ann is ordered');
    expect((await post(app, '/cart/orders')).status).toBe(403);
    expect(names).toEqual(['cart_ann']);
  });
});

describe('charge once', () => {
  it('answers a repeated call with the first receipt, and charges once', async () => {
    const receipts = new Map<string, string>();
    const charges: string[] = [];
    const payments = {
      find: async (order: string) => receipts.get(order),
      insert: async (order: string, receipt: string) => void receipts.set(order, receipt),
    };
    const provider = {
      charge: async (order: string, key: string) => {
        await redis.admin.ping();
        return `receipt ${charges.push(key)} of ${order}`;
      },
    };
    const app = await apps.start({
      providers: [
        Checkout,
        { provide: Payments, useValue: payments },
        { provide: PaymentProvider, useValue: provider },
      ],
    });
    const checkout = app.nest.get(Checkout);
    const clicks = await Promise.all([checkout.charge('order_1'), checkout.charge('order_1')]);
    expect(clicks).toEqual(['receipt 1 of order_1', 'receipt 1 of order_1']);
    expect(charges).toEqual(['order_1']);
  });
});

describe('keep after success', () => {
  it('refuses a second call for a minute, but not after a failure', async () => {
    const gate = new Gate();
    const send = jest.fn<Sms['send']>();
    send.mockImplementationOnce(() => gate.opened.then(() => Promise.reject(new Error('no net'))));
    const app = await apps.start({ providers: [LoginCodes, { provide: Sms, useValue: { send } }] });
    kept.push(app);
    const codes = app.nest.get(LoginCodes);
    const first = watch(codes.send('1'));
    await eventually(() => send.mock.calls.length === 1);
    await expect(codes.send('1')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    gate.open();
    await expect(first.promise).rejects.toThrow('no net');
    await codes.send('1');
    const refused = await codes.send('1').catch((its: unknown) => its as LockTimeoutError);
    expect(refused?.retryAfterMs).toBeGreaterThan(30_000);
    await codes.send('2');
    expect(send.mock.calls).toEqual([['1'], ['1'], ['2']]);
    expect(await redis.admin.pttl('code_1')).toBeGreaterThan(30_000);
    expect(await redis.admin.pttl('code_1')).toBeLessThanOrEqual(60_000);
  });
});
