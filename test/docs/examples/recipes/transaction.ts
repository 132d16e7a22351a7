import { ConflictException, Injectable } from '@nestjs/common';
import { Transactional, TransactionHost } from '@nestjs-cls/transactional';
import type { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
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
    CurrentLock.lease().assertHeld(); // before the commit
    return product.pieces;
  }
}
