import { describe, expect, it } from '@jest/globals';
import { Args } from '@nestjs/graphql';
import { Payload } from '@nestjs/microservices';
import { Body, createParamDecorator, Headers, Param, Query, Req } from '@nestjs/common';

import { LockConfigurationError, LockKeyError } from '../core/api/errors.js';
import { LockKey, nameFromArguments } from './lock-key.js';

/** Makes the name as `@WithLock` does, for a method of a decorated class. */
function Template(template: string): MethodDecorator {
  return (target, property, descriptor) => {
    const name = nameFromArguments(template, `here ${String(property)}`, { target, property });
    descriptor.value = ((...args: unknown[]) => name(args)) as never;
  };
}

class Order {
  sku!: string;
}

const User = createParamDecorator(() => undefined);

describe('a placeholder', () => {
  it('is filled by the parameter that @LockKey names', () => {
    class Stock {
      @Template('product_<id>_<dto.sku>')
      buy(@LockKey('dto') dto: Order, @LockKey('id') id: string): unknown {
        return undefined;
      }
    }
    expect(new Stock().buy({ sku: 'a' }, '7')).toBe('product_7_a');
  });

  it('is filled by the parameter that a decorator of Nest names', () => {
    class Stock {
      @Template('<id>:<page>:<order.sku>:<x-tenant>:<user>')
      buy(
        @Body() body: unknown,
        @Param('id') id: string,
        @Query('page') page: number,
        @Body('order') order: Order,
        @Headers('x-tenant') tenant: string,
        @User('user') user: string,
      ): unknown {
        return undefined;
      }
    }
    expect(new Stock().buy({}, '7', 2, { sku: 'a' }, 't', 'u')).toBe('7:2:a:t:u');
  });

  it('knows @Payload, @Args and the like by what they leave behind', () => {
    const named =
      (paramtype: string, data: unknown): ParameterDecorator =>
      (target, property, index) => {
        const key = property ?? '';
        const before: unknown = Reflect.getMetadata('__routeArguments__', target.constructor, key);
        const args = { ...(before as object), [`${paramtype}:${String(index)}`]: { index, data } };
        Reflect.defineMetadata('__routeArguments__', args, target.constructor, key);
      };
    class Handler {
      @Template('<orderId>_<input.id>')
      handle(@named('3', 'orderId') id: string, @named('5', 'input') input: Order): unknown {
        return undefined;
      }
    }
    expect(new Handler().handle('7', { id: 'a' } as never)).toBe('7_a');
  });

  it('may name one parameter twice over', () => {
    class Stock {
      @Template('<id>')
      buy(@LockKey('id') @Param('id') id: string): unknown {
        return undefined;
      }
    }
    expect(new Stock().buy('7')).toBe('7');
  });

  it('is filled by its position', () => {
    class Stock {
      @Template('<1>_<0.sku>')
      buy(order: Order, id: string): unknown {
        return undefined;
      }
    }
    expect(new Stock().buy({ sku: 'a' }, '7')).toBe('7_a');
  });

  it('is filled by an own property of the only parameter', () => {
    class Stock {
      @Template('product_<sku>')
      buy(order: Order): unknown {
        return undefined;
      }

      @Template('<a.b>')
      any(order: unknown): unknown {
        return undefined;
      }

      @Template('<sku>')
      body(@Body() order: Order): unknown {
        return undefined;
      }
    }
    const stock = new Stock();
    expect(stock.buy({ sku: 'a' })).toBe('product_a');
    expect(stock.any({ a: { b: 1 } })).toBe('1');
    expect(stock.body({ sku: 'a' })).toBe('a');
    expect(() => stock.buy({} as Order)).toThrow(LockKeyError);
    expect(() => stock.buy({} as Order)).toThrow('argument 0 has no own property "sku"');
    expect(() => stock.any('text')).toThrow(LockKeyError);
  });

  it('may begin with the name of a part of the request where the only parameter has that part', () => {
    class Stock {
      @Template('<body.sku>')
      request(@Req() request: object): unknown {
        return undefined;
      }

      @Template('<body.sku>')
      mail(mail: object): unknown {
        return undefined;
      }

      @Template('<0.body.sku>')
      nested(@Body() mail: object): unknown {
        return undefined;
      }

      @Template('<body.sku>')
      named(@LockKey('body') @Body() order: Order): unknown {
        return undefined;
      }
    }
    const [stock, message] = [new Stock(), { body: { sku: 'a' } }];
    expect([stock.request(message), stock.mail(message), stock.nested(message)]).toEqual(
      Array(3).fill('a'),
    );
    expect(stock.named({ sku: 'a' })).toBe('a');
  });

  it('may be named anew by an overriding method, in another place', () => {
    class Stock {
      @Template('<id>')
      buy(@LockKey('id') id: string, note: string): unknown {
        return undefined;
      }
    }
    class Other extends Stock {
      @Template('<id>')
      override buy(note: string, @LockKey('id') id: string): unknown {
        return undefined;
      }
    }
    expect(new Stock().buy('first', 'second')).toBe('first');
    expect(new Other().buy('first', 'second')).toBe('second');
  });
});

describe('a class definition throws', () => {
  const refused = (define: () => unknown, ...texts: string[]) => {
    expect(define).toThrow(LockConfigurationError);
    for (const text of texts) expect(define).toThrow(text);
  };

  it('when nothing names a placeholder, and tells what it found and what to do', () => {
    refused(
      () => {
        class Stock {
          @Template('product_<id>')
          buy(id: string, @Param('pid') pid: number): unknown {
            return undefined;
          }
        }
        return Stock;
      },
      'here buy: <id> cannot be filled: no parameter has that name',
      'the parameters (0: String, 1: Number named "pid")',
      '@LockKey("…")',
      'position as in <0>',
      '(...args) => string',
    );
  });

  it('when several parameters have the name', () => {
    refused(
      () => {
        class Stock {
          @Template('<id>')
          buy(@Param('id') id: string, @Body('id') other: string): unknown {
            return undefined;
          }
        }
        return Stock;
      },
      'several parameters are named "id"',
      '0: String named "id", 1: String named "id"',
    );
    refused(() => {
      class Stock {
        @Template('<id>')
        buy(@Param('id') id: string, @LockKey('id') other: string): unknown {
          return undefined;
        }
      }
      return Stock;
    }, 'several parameters are named "id"');
  });

  it('when the only parameter can have no such property', () => {
    refused(() => {
      class Stock {
        @Template('<id>')
        buy(id: string): unknown {
          return undefined;
        }
      }
      return Stock;
    }, 'the parameters (0: String)');
    refused(() => {
      class Stock {
        @Template('<length>')
        buy(ids: string[]): unknown {
          return undefined;
        }
      }
      return Stock;
    }, 'the parameters (0: Array)');
  });

  it('when there is no such position, or no parameter at all', () => {
    refused(() => {
      class Stock {
        @Template('<1>')
        buy(id: string): unknown {
          return undefined;
        }
      }
      return Stock;
    }, 'there is no parameter 1');
    refused(() => {
      class Stock {
        @Template('<id>')
        run(): unknown {
          return undefined;
        }
      }
      return Stock;
    }, 'Found no parameters');
  });

  it.each([
    ['body', Body()],
    ['query', Query()],
    ['params', Param()],
    ['payload', Payload()],
    ['args', Args()],
  ])('when <%s.sku> would be a property of that part itself', (part, decorator) => {
    const define = (template: string) => () => {
      class Stock {
        @Template(template)
        buy(@decorator order: Order): unknown {
          return undefined;
        }
      }
      return Stock;
    };
    refused(
      define(`o_<${part}.sku>`),
      `here buy: <${part}.sku> would be read from the only parameter`,
      'write <sku> or <0.sku>',
      `write <0.${part}.sku> if the parameter has a property "${part}"`,
    );
    const viaInterceptor = `keep <${part}.sku> and set via: 'interceptor'`;
    if (['body', 'query', 'params'].includes(part)) {
      refused(define(`o_<${part}.sku>`), viaInterceptor);
    }
    refused(define(`o_<${part}>`), `write <0.${part}>`);
  });

  it('when the compiler emits no types that could tell', () => {
    const buy = Template('<id>') as (target: object, property: string, d: object) => void;
    class Untyped {
      buy(): void {
        // Decorated below, as without emitDecoratorMetadata.
      }
    }
    const descriptor = { value: Untyped.prototype.buy };
    refused(() => {
      buy(Untyped.prototype, 'buy', descriptor);
    }, 'emitDecoratorMetadata');
  });

  it.each(['', '0', 'a.b', 'a b', '<a>', undefined as unknown as string])(
    'when @LockKey is given %p',
    (name) => {
      refused(() => {
        class Stock {
          buy(@LockKey(name) id: string): unknown {
            return undefined;
          }
        }
        return Stock;
      }, '@LockKey needs a name');
    },
  );

  it('when @LockKey stands in a constructor', () => {
    refused(() => {
      class Stock {
        constructor(@LockKey('id') readonly id: string) {}
      }
      return Stock;
    }, 'not of a constructor');
  });
});
