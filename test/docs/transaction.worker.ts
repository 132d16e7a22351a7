import 'reflect-metadata';

import {
  ConflictException,
  Injectable,
  Module,
  type INestApplicationContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import Database from 'libsql';
import { ClsModule } from 'nestjs-cls';
import { CurrentLock, LockKey, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { DataSource, EventSubscriber, type EntitySubscriberInterface } from 'typeorm';
import { report, serve } from '../support/worker.js';
import { OrderService, Product } from './examples/recipes/transaction.js';

let open: () => void = () => undefined;
let opened = Promise.resolve();

/** The recipe with its two decorators the other way round. */
@Injectable()
export class WrongOrderService {
  constructor(private readonly database: TransactionHost<TransactionalAdapterTypeOrm>) {}

  @Transactional()
  @WithLock('product_<sku>') // below: released before COMMIT
  async buy(@LockKey('sku') sku: string): Promise<number> {
    const { tx } = this.database;
    const product = await tx.findOneByOrFail(Product, { sku });
    if (product.pieces === 0) throw new ConflictException('sold out');
    product.pieces -= 1;
    await tx.save(product);
    return product.pieces;
  }
}

type Point = 'UPDATE' | 'COMMIT';
let shut: Point | undefined;

/** Tells what each caller reads, and keeps transactions at one point until `open()`. */
@EventSubscriber()
class Watcher implements EntitySubscriberInterface {
  afterLoad(product: object): void {
    report({ pieces: (product as Product).pieces });
  }

  async beforeUpdate(): Promise<void> {
    if (shut !== 'UPDATE') return;
    report('before UPDATE');
    await opened;
    // So that no caller has to wait until the watchdog finds out.
    await CurrentLock.lease()
      .renew()
      .catch(() => undefined);
  }

  async beforeTransactionCommit(): Promise<void> {
    if (shut !== 'COMMIT') return;
    report('before COMMIT');
    await opened;
  }
}

@Module({})
class App {}

let app: INestApplicationContext | undefined;

const api = {
  start: async (database: string) => {
    const module = {
      module: App,
      imports: [
        TypeOrmModule.forRoot({
          ...{ type: 'better-sqlite3', driver: Database, database, enableWAL: true },
          ...{ entities: [Product], subscribers: [Watcher], synchronize: true },
        }),
        RedisLockModule.forRoot({ connection: String(process.env.REDIS_URL) }),
        ClsModule.forRoot({
          plugins: [
            new ClsPluginTransactional({
              adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
            }),
          ],
        }),
      ],
      providers: [OrderService, WrongOrderService],
    };
    app = await NestFactory.createApplicationContext(module, {
      logger: false,
      abortOnError: false,
    });
  },
  stock: async (pieces: number) => {
    await app?.get(DataSource).getRepository(Product).upsert({ sku: 'A', pieces }, ['sku']);
  },
  left: async () => {
    const products = app?.get(DataSource).getRepository(Product);
    return (await products?.findOneByOrFail({ sku: 'A' }))?.pieces;
  },
  shut: (point: Point) => {
    shut = point;
    opened = new Promise((resolve) => {
      open = resolve;
    });
  },
  open: () => {
    open();
  },
  buy: (order: 'right' | 'wrong') =>
    app?.get(order === 'right' ? OrderService : WrongOrderService).buy('A'),
  close: () => app?.close(),
};
export type Api = typeof api;
serve(api);
