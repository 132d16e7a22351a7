import { ConflictException, Injectable, Module } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsModule } from 'nestjs-cls';
import { CurrentLock, LockKey, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity()
export class Product {
  @PrimaryColumn('text')
  sku!: string;

  @Column('int')
  pieces!: number;
}

@Injectable()
export class OrderService {
  constructor(private readonly database: TransactionHost<TransactionalAdapterTypeOrm>) {}

  @WithLock('product_<sku>') // above: acquired before BEGIN, released after COMMIT
  @Transactional()
  async buy(@LockKey('sku') sku: string): Promise<number> {
    const { tx } = this.database;
    const product = await tx.findOneByOrFail(Product, { sku });
    if (product.pieces === 0) throw new ConflictException('sold out');
    product.pieces -= 1;
    await tx.save(product);
    CurrentLock.lease().assertHeld(); // throws if the lock was lost, which rolls back
    return product.pieces;
  }
}

/** `TypeOrmModule.forRoot({ … })` of the application stands beside it. */
@Module({
  imports: [
    RedisLockModule.forRoot({ connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
    ClsModule.forRoot({
      plugins: [
        new ClsPluginTransactional({
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
  ],
  providers: [OrderService],
})
export class ShopModule {}
