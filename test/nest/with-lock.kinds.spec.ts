import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Param,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import {
  CurrentLock,
  LockConfigurationError,
  LockKey,
  LockKeyError,
  LockStateError,
  LockTimeoutError,
  SemaphoreService,
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  WithWriteLock,
} from 'nestjs-redis-lock';
import { eventually, Gate, Section, useRedis } from '../support/set-up.js';
import { useApplications } from './applications.js';

const redis = useRedis();
const apps = useApplications(redis);

async function provided<T extends object>(provider: Type<T>): Promise<T> {
  return (await apps.start({ providers: [provider] })).nest.get(provider);
}

const FAIR_QUEUE = 'redisson_lock_queue:{product_7}';
const waiting = async () => redis.admin.llen(FAIR_QUEUE);

describe('@WithFairLock', () => {
  it('lets calls of all processes in, in the order in which they came', async () => {
    const entered: string[] = [];
    const gate = new Gate();
    @Injectable()
    class Stock {
      @WithFairLock('product_<id>', { fenced: true })
      async buy(@LockKey('id') _id: string, buyer: string): Promise<number | undefined> {
        entered.push(buyer);
        await gate.opened;
        return CurrentLock.lease().fencingToken;
      }
    }
    const [one, other] = [await provided(Stock), await provided(Stock)];
    const calls: Promise<number | undefined>[] = [];
    for (const [i, buyer] of ['a', 'b', 'c', 'd'].entries()) {
      calls.push((i % 2 === 0 ? one : other).buy('7', buyer));
      await eventually(async () => entered.length === 1 && (await waiting()) === i);
    }
    gate.open();
    const tokens = await Promise.all(calls);
    expect(entered).toEqual(['a', 'b', 'c', 'd']);
    expect(tokens).toEqual([...tokens].sort());
  });
});

describe('@WithReadLock and @WithWriteLock', () => {
  @Injectable()
  class Catalogue {
    readonly readers = new Section();
    readonly writers = new Section();
    gate = new Gate();

    @WithReadLock('price_<sku>')
    async read(@LockKey('sku') _sku: string): Promise<void> {
      await this.readers.run(() => this.gate.opened);
    }

    @WithWriteLock('price_<sku>', { waitTimeMs: 400, onBusy: () => 'busy' })
    async write(@LockKey('sku') _sku: string): Promise<string> {
      return this.writers.run(async () => 'written');
    }

    @WithWriteLock('price_<sku>')
    async correct(@LockKey('sku') sku: string): Promise<void> {
      this.gate.open();
      await this.read(sku);
    }

    @WithReadLock('price_<sku>')
    async readAndWrite(@LockKey('sku') sku: string): Promise<string> {
      return this.write(sku);
    }
  }

  it('let readers in together, and no writer beside them', async () => {
    const [one, other] = [await provided(Catalogue), await provided(Catalogue)];
    const reading = [one.read('7'), one.read('7'), other.read('7')];
    await eventually(() => one.readers.most === 2 && other.readers.most === 1);
    expect(await other.write('7')).toBe('busy');
    one.gate.open();
    other.gate.open();
    await Promise.all(reading);
    expect(await other.write('7')).toBe('written');
  });

  it('let a writer read, and refuse a reader that wants to write', async () => {
    const catalogue = await provided(Catalogue);
    await catalogue.correct('7');
    await expect(catalogue.readAndWrite('7')).rejects.toThrow(LockStateError);
  });
});

describe('@WithSemaphore', () => {
  it('lets in as many calls as there are permits', async () => {
    @Injectable()
    class Gateway {
      readonly section = new Section();
      gate = new Gate();

      @WithSemaphore('gateway')
      async pay(): Promise<void> {
        await this.section.run(() => this.gate.opened);
      }

      @WithSemaphore('gateway', { permits: 3, waitTimeMs: 0 })
      async close(): Promise<void> {
        await Promise.resolve();
      }
    }
    const app = await apps.start({ providers: [Gateway] });
    await app.nest.get(SemaphoreService).get('gateway').trySetPermits(2);
    const gateway = app.nest.get(Gateway);
    const paying = Array.from({ length: 6 }, () => gateway.pay());
    await eventually(() => gateway.section.most === 2);
    gateway.gate.open();
    await Promise.all(paying);
    expect([gateway.section.entries, gateway.section.most]).toEqual([6, 2]);
    await expect(gateway.close()).rejects.toThrow('2 permits in all');
    await redis.admin.del('gateway', '{gateway}:timeout');
  });

  it('sets their number where it is not set', async () => {
    @Injectable()
    class Gateway {
      readonly section = new Section();
      gate = new Gate();

      @WithSemaphore('gateway_<id>', { capacity: 2 })
      async pay(@LockKey('id') _id: string): Promise<void> {
        await this.section.run(() => this.gate.opened);
      }
    }
    await redis.admin.set('gateway_set', 1);
    const gateway = await provided(Gateway);
    const paying = Array.from({ length: 4 }, () => gateway.pay('new'));
    await eventually(() => gateway.section.most === 2);
    const one = gateway.pay('set');
    await eventually(async () => (await redis.admin.get('gateway_set')) === '0');
    gateway.gate.open();
    await Promise.all([...paying, one]);
    expect(await redis.admin.mget('gateway_new', 'gateway_set')).toEqual(['2', '1']);
    await redis.admin.del('gateway_new', 'gateway_set');
  });

  it('says that they are not set, and that no method sets them', async () => {
    @Injectable()
    class Gateway {
      @WithSemaphore('gateway', { waitTimeMs: 0 })
      async pay(): Promise<void> {
        await Promise.resolve();
      }
    }
    const app = await apps.start({ providers: [Gateway] });
    expect(await app.nest.get(SemaphoreService).get('gateway').permits()).toBe(0);
    await expect(app.nest.get(Gateway).pay()).rejects.toThrow(
      'its permits are not set: give capacity or call trySetPermits',
    );
  });

  it('refuses a decorator whose every call wants more than all', () => {
    const define = () => {
      class Wrong {
        @WithSemaphore('a', { permits: 6, capacity: 5 })
        async run(): Promise<void> {
          await Promise.resolve();
        }
      }
      return Wrong;
    };
    expect(define).toThrow(
      '@WithSemaphore("a") on Wrong.run: permits (of one call) must not exceed capacity',
    );
  });

  it.each(['lock', 'fair', 'read', 'write'] as const)(
    'alone has a capacity: %s does not',
    (kind) => {
      const define = () => {
        class Wrong {
          @WithLock('a', { kind, capacity: 5 })
          async run(): Promise<void> {
            await Promise.resolve();
          }
        }
        return Wrong;
      };
      expect(define).toThrow('unknown option "capacity"');
    },
  );
});

describe('@WithLock with a kind', () => {
  it('takes what the decorator of that kind takes', async () => {
    @Injectable()
    class Catalogue {
      @WithLock('price_<sku>', { kind: 'read' })
      async read(@LockKey('sku') _sku: string) {
        return redis.admin.hget('price_7', 'mode');
      }

      @WithLock('price_<sku>', { kind: 'write', fenced: true })
      async write(@LockKey('sku') _sku: string) {
        return redis.admin.hget('price_7', 'mode');
      }

      @WithLock('gateway', { kind: 'semaphore', permits: 2 })
      async pay() {
        return redis.admin.zcard('{gateway}:timeout');
      }

      @WithLock('product_<sku>', { kind: 'fair' })
      async buy(@LockKey('sku') _sku: string, inQueue: number) {
        await eventually(async () => (await waiting()) === inQueue);
      }
    }
    const app = await apps.start({ providers: [Catalogue] });
    const catalogue = app.nest.get(Catalogue);
    expect(await catalogue.read('7')).toBe('read');
    expect(await catalogue.write('7')).toBe('write');
    await app.nest.get(SemaphoreService).get('gateway').trySetPermits(2);
    expect(await catalogue.pay()).toBe(2);
    // The first is in until the second stands in the queue.
    await Promise.all([catalogue.buy('7', 1), catalogue.buy('7', 0)]);
    await redis.admin.del('gateway', '{gateway}:timeout');
  });
});

describe('@WithLock of several names', () => {
  @Injectable()
  class Bank {
    readonly accounts = new Map<string, Section>();
    gate = new Gate();

    @WithLock(['account_<from>', 'account_<to>'], { waitTimeMs: 0 })
    async transfer(@LockKey('from') _from: string, @LockKey('to') _to: string): Promise<string[]> {
      const keys = (await redis.admin.keys('account_*')).sort();
      await this.gate.opened;
      return keys;
    }

    @WithLock((...ids: string[]) => ids.map((id) => `account_${id}`), { kind: 'fair' })
    async audit(..._ids: string[]): Promise<string> {
      return Promise.resolve(CurrentLock.lease().name);
    }
  }

  it('takes all of them, or none', async () => {
    const bank = await provided(Bank);
    const transferring = bank.transfer('b', 'a');
    await eventually(async () => (await redis.admin.exists('account_a', 'account_b')) === 2);
    await expect(bank.transfer('c', 'b')).rejects.toThrow(LockTimeoutError);
    expect(await redis.admin.exists('account_c')).toBe(0);
    bank.gate.open();
    expect(await transferring).toEqual(['account_a', 'account_b']);
  });

  it('takes names that a function makes, of any kind that can be held alone', async () => {
    const bank = await provided(Bank);
    expect(await bank.audit('z', 'x', 'z')).toBe('account_x, account_z');
    await expect(bank.audit('{}')).rejects.toThrow(LockKeyError);
  });
});

describe('each kind via the interceptor', () => {
  it('runs the request under it', async () => {
    @Controller('products')
    class Products {
      readonly names: string[] = [];

      @Get(':id/fair')
      @WithFairLock('product_<params.id>', { via: 'interceptor' })
      async fair(@Param('id') id: string): Promise<string> {
        return `${id} ${(await redis.keys()).join()}`;
      }

      @Get(':id/both')
      @WithLock(['a_<params.id>', 'b_<query.x>'], { via: 'interceptor' })
      async both(): Promise<string> {
        return (await redis.keys()).sort().join();
      }

      @Get(':id/read')
      @WithReadLock((_: ExecutionContext) => 'price', { via: 'interceptor' })
      async read(): Promise<string | null> {
        return redis.admin.hget('price', 'mode');
      }
    }
    const app = await apps.start({ controllers: [Products] });
    const text = async (path: string) => (await app.request(path)).text();
    expect(await text('/products/7/fair')).toBe('7 product_7');
    expect(await text('/products/7/both?x=8')).toBe('a_7,b_8');
    expect(await text('/products/7/read')).toBe('read');
  });
});

describe('a class definition throws', () => {
  type LooseDecorator = (key: unknown, options?: unknown) => MethodDecorator;
  const Loose = WithLock as unknown as LooseDecorator;
  const LooseFair = WithFairLock as unknown as LooseDecorator;
  const defined = (decorator: MethodDecorator) => () => {
    class Stock {
      @decorator
      async buy(): Promise<void> {
        await Promise.resolve();
      }
    }
    return Stock;
  };

  it.each([
    ['an unknown kind', Loose('a', { kind: 'red' }), 'kind must be one of lock, fair, read, write'],
    ['permits of a lock', Loose('a', { permits: 2 }), 'unknown option "permits"'],
    ['a fenced read lock', Loose('a', { kind: 'read', fenced: true }), 'unknown option "fenced"'],
    ['fenced permits', Loose('a', { kind: 'semaphore', fenced: true }), 'unknown option "fenced"'],
    [
      'half a permit',
      WithSemaphore('a', { permits: 0.5 }),
      '@WithSemaphore("a") on Stock.buy: perm',
    ],
    ['permits of several', Loose(['a', 'b'], { kind: 'semaphore' }), 'cannot be acquired as one'],
    ['no names', Loose([]), 'the key must be a template'],
    ['names that are none', Loose(['a', 7]), 'the key must be a template'],
    [
      'another kind',
      LooseFair('a', { kind: 'read' }),
      '@WithFairLock("a") on Stock.buy: this decor',
    ],
    ['no options at all', LooseFair('a', null), 'the options must be a plain object, not null'],
    ['options that are none', LooseFair('a', 100), 'the options must be a plain object, not 100'],
    ['an unknown placeholder', WithFairLock('a_<id>'), '@WithFairLock("a_<id>") on Stock.buy'],
  ])('for %s', (_, decorator, message) => {
    expect(defined(decorator as MethodDecorator)).toThrow(LockConfigurationError);
    expect(defined(decorator as MethodDecorator)).toThrow(message);
  });
});
