import { describe, expect, it } from '@jest/globals';
import type { ExecutionContext } from '@nestjs/common';
import {
  LockConfigurationError,
  LockKey,
  WithFairLock,
  WithLock,
  WithReadLock,
  WithSemaphore,
  type WithLockOptions,
} from 'nestjs-redis-lock';
import { BehaviorSubject, of, type Observable } from 'rxjs';

/** A caller in JavaScript may pass anything, and some faults show only in the emitted types. */
const Loose = WithLock as unknown as (key: unknown, options?: unknown) => MethodDecorator;

function refused(define: () => unknown, ...texts: string[]): void {
  expect(define).toThrow(LockConfigurationError);
  for (const text of texts) expect(define).toThrow(text);
}

/** Defines a class with a decorated method of this key and these options. */
const defined = (key: unknown, options?: unknown) => () => {
  class Stock {
    @Loose(key, options)
    async buy(id: string): Promise<void> {
      await Promise.resolve();
    }
  }
  return Stock;
};

describe('a class definition throws', () => {
  it('names the class, the method and the template', () => {
    refused(
      defined('product_<id>'),
      '@WithLock("product_<id>") on Stock.buy: <id> cannot be filled',
    );
  });

  it.each([undefined, null, 7, {}, [], ['product', 7], Symbol('key'), new Array(2)])(
    'for the key %p',
    (key) => {
      refused(defined(key), 'on Stock.buy: the key must be a template');
      refused(defined(key, { via: 'interceptor' }), 'on Stock.buy: the key must be a template');
    },
  );

  it.each([
    [null, 'the options must be a plain object, not null'],
    [[], 'the options must be a plain object, not an array'],
    ['skip', 'the options must be a plain object, not "skip"'],
    [{ wait: 5 }, 'unknown option "wait"; the options are waitTimeMs, profile, leaseTimeMs'],
    [{ signal: AbortSignal.abort() }, 'unknown option "signal"'],
    [{ waitTimeMs: -1 }, 'waitTimeMs must be a whole number of milliseconds'],
    [{ waitTimeMs: NaN }, 'waitTimeMs must be'],
    [{ waitTimeMs: '5s' }, 'waitTimeMs must be'],
    [{ leaseTimeMs: 0 }, 'leaseTimeMs must be'],
    [{ leaseTimeMs: 1.5 }, 'leaseTimeMs must be'],
    [{ leaseTimeMs: 2 ** 31 }, 'leaseTimeMs must be'],
    [{ maxHoldMs: Infinity }, 'maxHoldMs must be'],
    [{ leaseTimeMs: 1_000, maxHoldMs: 1_000 }, 'give one of the two'],
    [{ fenced: 'yes' }, 'fenced must be true or false'],
    [{ onBusy: 'ignore' }, `onBusy must be 'throw', 'skip' or a function`],
    [{ onBusy: null }, 'onBusy must be'],
    [{ onBackendError: 'skip' }, `onBackendError must be 'throw', 'run' or a function`],
    [{ via: 'proxy' }, `via must be 'method' or 'interceptor', not "proxy"`],
    [{ via: null }, 'via must be'],
  ])('for the options %p', (options, reason) => {
    refused(defined('product', options), '@WithLock("product") on Stock.buy', reason);
  });

  it('for a method whose emitted return type shows it to be synchronous', () => {
    const types: [string, () => unknown][] = [
      [
        'String',
        () => {
          class Stock {
            @Loose('x')
            buy(): string {
              return '';
            }
          }
          return Stock;
        },
      ],
      [
        'Array',
        () => {
          class Stock {
            @Loose('x')
            buy(): string[] {
              return [];
            }
          }
          return Stock;
        },
      ],
      [
        'Date',
        () => {
          class Stock {
            @Loose('x')
            buy(): Date {
              return new Date();
            }
          }
          return Stock;
        },
      ],
    ];
    for (const [type, define] of types) {
      refused(define, `on Stock.buy: the method returns ${type}`, 'make it async');
    }
  });

  it('for a static method, a getter and a class', () => {
    refused(() => {
      class Stock {
        stock = 1;

        @Loose('x')
        static async buy(): Promise<void> {
          await Promise.resolve();
        }
      }
      return Stock;
    }, 'on Stock.buy: a static method');
    refused(() => {
      class Stock {
        @Loose('x')
        get buy(): string {
          return '';
        }
      }
      return Stock;
    }, 'on Stock.buy: only methods');
    refused(() => {
      class Stock {
        @Loose('x')
        async *buy(): AsyncGenerator<number> {
          yield await Promise.resolve(1);
        }
      }
      return Stock;
    }, 'on Stock.buy: a generator does not run when it is called');
    const onClass = Loose('x') as unknown as ClassDecorator;
    refused(
      () => {
        @onClass
        class Stock {
          readonly stock = 1;
        }
        return Stock;
      },
      'on Stock',
      'only methods can run under a lock',
    );
  });

  it('for a decorator of ECMAScript, by naming the compiler option', () => {
    const context = { kind: 'method', name: 'buy', static: false, private: false };
    const decorate = Loose('product_<id>') as unknown as (method: unknown, context: object) => void;
    refused(
      () => {
        decorate(async () => Promise.resolve(), context);
      },
      'set the compiler option experimentalDecorators',
      '@WithLock',
    );
  });

  it('for a template that only an interceptor, or only a method, can fill', () => {
    refused(defined('product_<params.id>'), 'on Stock.buy: <params.id> cannot be filled');
    refused(defined('product_<id>', { via: 'interceptor' }), '<id> is no part of a request');
    refused(
      defined('product_<params>', { via: 'interceptor' }),
      '<params> is no part of a request',
    );
    refused(defined('product_<0>', { via: 'interceptor' }), '<params.x>');
  });

  it.each([
    ['product_:id', 'product_<id>'],
    [':id', '<id>'],
    ['shop/:shop/product/:id', 'shop/<shop>/product/<id>'],
    ['product_{id}', 'product_<id>'],
    ['{id}:stock', '<id>:stock'],
    ['{0}:stock', '<0>:stock'],
    ['{productId}', '<productId>'],
    ['product_{{id}}', 'product_<id>'],
    ['product_{order.id}', 'product_<order.id>'],
    ['product_#{id}', 'product_<id>'],
    ['product_#id', 'product_<id>'],
    ['product_$id', 'product_<id>'],
    ['product_${id}', 'product_<id>'],
    ['product:$1', 'product:<1>'],
    ['product_%s', 'product_<0>'],
    ['product_%s_%d', 'product_<0>_<1>'],
    [':shop_:id', '<shop>_<id>'],
    ['product_%(id)s', 'product_<id>'],
    ['product_%{id}', 'product_<id>'],
  ])('for the key %s, which is no template, and spells it: %s', (key, meant) => {
    refused(defined(key), `on Stock.buy: `, `write "${meant}", or, if intended, a function`);
    refused(defined(['product_<0>', key]), `write "${meant}"`);
    const ofRequest = meant.replaceAll('<', '<params.');
    refused(defined(key, { via: 'interceptor' }), `write "${ofRequest}"`);
  });

  it('for a hash tag of the name of a parameter', () => {
    refused(() => {
      class Stock {
        @Loose('{sku}:stock')
        async buy(@LockKey('sku') sku: string): Promise<void> {
          await Promise.resolve(sku);
        }
      }
      return Stock;
    }, 'write "<sku>:stock"');
  });

  it('for two locks via the interceptor of one handler', () => {
    refused(() => {
      class Stock {
        @WithLock('a', { via: 'interceptor' })
        @WithLock('b', { via: 'interceptor' })
        async buy(): Promise<void> {
          await Promise.resolve();
        }
      }
      return Stock;
    }, 'one lock via the interceptor');
  });
});

describe('a class definition accepts', () => {
  it.each([
    ...['nightly', 'orders:nightly', 'orders::nightly', 'job#nightly', '{orders}:nightly'],
    ...['us$', '100%', '50%discount', 'a:1', 'eins/zwei', '{shop}:<0>', 'x_{shop}:<0>'],
    () => 'product_:id',
  ])('the key %s on a method with parameters', (key) => {
    expect(defined(key)).not.toThrow();
  });

  it('every key on a method without parameters', () => {
    class Stock {
      @WithLock('product_:id')
      async sweep(): Promise<void> {
        await Promise.resolve();
      }
    }
    expect(Stock).toBeDefined();
  });

  it('subclasses of Observable and Promise as return types, and unknown ones', () => {
    class Later<T> extends Promise<T> {}
    class Stock {
      @WithLock('x')
      subject(): BehaviorSubject<number> {
        return new BehaviorSubject(1);
      }

      @WithLock('x')
      later(): Later<number> {
        return Later.resolve(1);
      }

      @WithLock('x')
      either(): Promise<number> | Observable<number> {
        return Promise.resolve(1);
      }

      @WithLock('x')
      inferred() {
        return Promise.resolve(1);
      }
    }
    expect(Stock).toBeDefined();
  });
});

const typedOptions: WithLockOptions<[]> = { waitTimeMs: 0, via: 'method' };
const typedForRequests = { waitTimeMs: 0, via: 'interceptor' } as const;

/** Checked by the compiler: an unused @ts-expect-error fails the type check. */
export class Types {
  @WithLock((id: string) => `product_${id}`)
  async more(id: string, count: number): Promise<void> {
    await Promise.resolve();
  }

  @WithLock((id: string) => `product_${id}`)
  observable(id: string): Observable<number> {
    return of(1);
  }

  // @ts-expect-error -- the key wants a number
  @WithLock((id: number) => `product_${String(id)}`)
  async mismatch(id: string): Promise<void> {
    await Promise.resolve();
  }

  // @ts-expect-error -- the key wants an argument that the method does not have
  @WithLock((id: string) => `product_${id}`)
  async fewer(): Promise<void> {
    await Promise.resolve();
  }

  @WithLock((id: string | number) => `product_${String(id)}`)
  async wider(id: string): Promise<void> {
    await Promise.resolve();
  }

  @WithLock('generic')
  async generic<T>(value: T): Promise<T> {
    return Promise.resolve(value);
  }

  @WithLock((id: string) => id, { onBusy: ([id], error) => `${id.trim()} ${error.code}` })
  async typedBusy(@LockKey('id') id: string, count: number): Promise<string> {
    return Promise.resolve('');
  }

  @WithLock('order_<id>', { onBusy: ([id]: [string], error) => `${id.trim()} ${error.code}` })
  async templateBusy(@LockKey('id') id: string, count: number): Promise<string> {
    return Promise.resolve('');
  }

  @WithLock('order_<id>', { onBusy: (args) => args.length, onBackendError: 'run' })
  async anyArguments(@LockKey('id') id: string): Promise<number> {
    return Promise.resolve(1);
  }

  @WithLock('a', { onBusy: () => of(1), onBackendError: () => undefined })
  emits(): Observable<number | undefined> {
    return of(1);
  }

  @WithLock('a', { onBusy: 'skip', onBackendError: () => 'no caller reads it' })
  async nothing(): Promise<void> {
    await Promise.resolve();
  }

  @WithReadLock('a', {
    onBusy: () => {
      throw new Error('busy');
    },
  })
  async throws(): Promise<number> {
    return Promise.resolve(1);
  }

  @WithLock('a', typedOptions)
  async typedBefore(): Promise<string> {
    return Promise.resolve('');
  }

  @WithLock((context: ExecutionContext) => context.getClass().name, typedForRequests)
  typedForRequests(): string {
    return '';
  }

  @WithLock('a', { onBusy: () => 'busy' })
  async word(): Promise<'busy' | 'done'> {
    return Promise.resolve('done');
  }

  // @ts-expect-error -- another word
  @WithLock('a', { onBusy: () => 'free' })
  async otherWord(): Promise<'busy' | 'done'> {
    return Promise.resolve('done');
  }

  @WithLock('a', { onBusy: () => ({ ok: false, causes: ['busy', 1] }) })
  async variant(): Promise<{ ok: true } | { ok: false; causes: [cause: string, times: 1 | 2] }> {
    return Promise.resolve({ ok: true });
  }

  // @ts-expect-error -- the answer of one variant, with the mark of the other
  @WithLock('a', { onBusy: () => ({ ok: true, causes: [] }) })
  async otherVariant(): Promise<{ ok: true; count: number } | { ok: false; causes: string[] }> {
    return Promise.resolve({ ok: true, count: 1 });
  }

  // @ts-expect-error -- skip resolves with undefined
  @WithLock('a', { onBusy: 'skip' })
  async skips(): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error -- skip resolves with undefined
  @WithSemaphore('a', { onBusy: 'skip' })
  async skipsPermits(): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error -- the handler answers with a number
  @WithLock('a', { onBusy: () => 1 })
  async answersOther(): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error -- the handler answers with a number
  @WithFairLock('a', { onBackendError: async () => Promise.resolve(1) })
  async answersOtherOnError(): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error -- the handler wants a number
  @WithLock('order_<id>', { onBusy: ([id]: [number]) => id.toFixed() })
  async otherArguments(@LockKey('id') id: string): Promise<string> {
    return Promise.resolve('');
  }

  // @ts-expect-error -- a parameter of the key has no type
  @WithLock((dto) => `order_${String(dto)}`)
  async untyped(dto: { id: string }): Promise<void> {
    await Promise.resolve();
  }

  @WithLock('order_<0>', { onBusy: ([id]: [id: string]) => id.length })
  async typedHandler(id: string, count: number): Promise<number> {
    return Promise.resolve(count);
  }

  @WithLock<[id: string]>('order_<0>', { onBusy: ([id]) => id.length })
  async typedDecorator(id: string, count: number): Promise<number> {
    return Promise.resolve(count);
  }

  @WithLock((context: ExecutionContext) => context.getClass().name, { via: 'interceptor' })
  handler(): string {
    return '';
  }

  @WithLock((context) => context.getClass().name, { via: 'interceptor', onBusy: 'skip' })
  inferred(): string {
    return '';
  }
}

/** An entity may be of any type. */
export abstract class Repository<Entity> {
  @WithLock('a', { onBusy: () => null })
  async find(): Promise<Entity | null> {
    return Promise.resolve(null);
  }

  @WithLock('a', { onBusy: () => null })
  watch(): Observable<Entity | null> {
    return of(null);
  }

  @WithLock('a', { onBusy: 'skip' })
  async maybe(): Promise<Entity | undefined> {
    return Promise.resolve(undefined);
  }

  @WithLock('a', { onBusy: () => [] })
  async all(): Promise<Entity[]> {
    return Promise.resolve([]);
  }

  // @ts-expect-error -- an entity may be something else
  @WithLock('a', { onBusy: () => null })
  async need(): Promise<Entity> {
    return Promise.reject(new Error());
  }

  // @ts-expect-error -- skip resolves with undefined
  @WithLock('a', { onBusy: 'skip' })
  async orNull(): Promise<Entity | null> {
    return Promise.resolve(null);
  }
}

export const typesOfSynchronous = (): unknown => {
  class Synchronous {
    // @ts-expect-error -- a synchronous method
    @WithLock('x')
    buy(): string {
      return '';
    }

    // @ts-expect-error -- a synchronous method
    @WithLock('x')
    nothing(): void {
      return;
    }

    // @ts-expect-error -- no method
    @WithLock('x')
    property = 1;

    // @ts-expect-error -- an option that does not exist
    @WithLock('x', { wait: 1 })
    async wait(): Promise<void> {
      await Promise.resolve();
    }
  }
  return Synchronous;
};
