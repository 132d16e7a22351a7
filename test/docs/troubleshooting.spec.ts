import { describe, expect, it } from '@jest/globals';
import { Injectable, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  InjectLock,
  InjectLockService,
  LockKey,
  LockService,
  RedisLockModule,
  WithLock,
  type LockTemplate,
} from 'nestjs-redis-lock';
import { Readable } from 'node:stream';
import { of } from 'rxjs';
import { SILENT } from '../nest/applications.js';
import { pageOf } from '../support/proofs.js';
import { useRealRedis } from '../support/redis-server.js';

const redis = useRealRedis();

const PAGES = ['docs/troubleshooting.md', 'docs/internals/troubleshooting.md'];
/** The rows of the pages that begin with a message and not with a description. */
const quoted = PAGES.flatMap((page) => [
  ...pageOf(page).matchAll(/^\| (?:Nest [^`]*)?`([^`]+)` +\|/gm),
])
  .map(([, quote = '']) => quote)
  .filter((quote) => quote.includes(' '));

@Injectable()
class Lazy {
  @WithLock('a')
  async run(): Promise<AsyncIterable<number>> {
    return Readable.from([1]);
  }
}

@Injectable()
class Decorated {
  @WithLock('a')
  async run(): Promise<void> {}
}

@Injectable()
class Cached {
  constructor(@InjectLockService(LockService, 'cache') readonly locks: LockService) {}
}

@Injectable()
class Ordered {
  constructor(@InjectLock('orders') readonly orders: LockTemplate) {}
}

@Injectable()
class Intercepted {
  @WithLock('a', { via: 'interceptor' })
  async run(): Promise<void> {}
}

@Injectable()
class Unsaid {
  @WithLock('a')
  observable() {
    return of(1);
  }
}

@Module({})
class App {}

async function start(metadata: ModuleMetadata) {
  return NestFactory.createApplicationContext({ module: App, ...metadata }, SILENT);
}

const connection = () => redis.url;
const locks = (options: object = { connection: connection() }) => RedisLockModule.forRoot(options);

async function call<T>(provider: new () => T, work: (of: T) => unknown): Promise<void> {
  const app = await start({ imports: [locks()], providers: [provider] });
  try {
    await work(app.get(provider));
  } finally {
    await app.close();
  }
}

const BROKEN: (() => unknown)[] = [
  () => start({ providers: [Decorated] }),
  () => start({ imports: [locks()], providers: [Cached] }),
  () => start({ imports: [locks()], providers: [Ordered] }),
  () => start({ imports: [RedisLockModule] }),
  () => start({ imports: [locks(), locks({})] }),
  () => start({ imports: [locks({ connection: undefined })] }),
  () => start({ imports: [locks({ connection: { url: 'redis://redis' } })] }),
  () => start({ imports: [locks({ connection: { sendCommand: () => undefined } })] }),
  () => start({ imports: [locks({ connection: { keyPrefix: 'app:' } })] }),
  () => start({ imports: [locks()], providers: [Intercepted] }),
  () => {
    class Shop {
      @WithLock('product_:sku')
      async sell(_sku: string): Promise<void> {}
    }
    return Shop;
  },
  () => {
    class Shop {
      @WithLock('<sku>')
      async sell(_sku: string, _pieces: number): Promise<void> {}
    }
    return Shop;
  },
  () => {
    const { prototype } = class Shop {
      async sell(_order: object): Promise<void> {}
    };
    const method = Object.getOwnPropertyDescriptor(prototype, 'sell') ?? {};
    WithLock('<sku>')(prototype, 'sell', method as never);
  },
  () => {
    class Shop {
      @(WithLock('a') as MethodDecorator)
      sell(@LockKey('sku') sku: string): string {
        return sku;
      }
    }
    return Shop;
  },
  () => {
    const decorate = WithLock('a') as unknown as (method: unknown, context: object) => void;
    decorate(async () => Promise.resolve(), { kind: 'method', name: 'run' });
  },
  () => new Decorated().run(),
  () => call(Lazy, (lazy) => lazy.run()),
  () => call(Unsaid, (unsaid) => unsaid.observable()),
  () =>
    call(Decorated, async (decorated) => {
      await redis.without(['evalsha', 'eval'], () => decorated.run());
    }),
];

describe('troubleshooting', () => {
  it('quotes messages that come', async () => {
    const messages: string[] = [];
    for (const provoke of BROKEN) {
      const message = await Promise.resolve()
        .then(provoke)
        .then(
          () => 'nothing was wrong',
          (error: unknown) => (error as Error).message,
        );
      messages.push(message);
    }
    expect(quoted.filter((quote) => !messages.some((text) => text.includes(quote)))).toEqual([]);
    expect(messages.filter((text) => !quoted.some((quote) => text.includes(quote)))).toEqual([]);
  });
});
