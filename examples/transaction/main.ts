import 'reflect-metadata';

import { ConflictException, Controller, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  CurrentLock,
  FencingGuard,
  LockService,
  RedisLockModule,
  WithLock,
} from 'nestjs-redis-lock';
import { Column, DataSource, Entity, type EntityManager, PrimaryColumn } from 'typeorm';

@Entity()
class Product {
  @PrimaryColumn('text')
  sku!: string;

  @Column('int')
  pieces!: number;

  @Column('bigint', { nullable: true }) // the newest token that has written the row
  fence!: string | null;
}

@Controller('products')
class ProductController {
  constructor(private readonly database: DataSource) {}

  @Post(':sku/orders')
  @WithLock('product_<sku>', { fenced: true }) // held from before BEGIN until after COMMIT
  async buy(@Param('sku') sku: string): Promise<string> {
    const left = await this.database.transaction((tx) => this.take(tx, sku));
    console.log(`${sku}: ${left} left`);
    return `sold one of ${sku}`;
  }

  private async take(tx: EntityManager, sku: string): Promise<number> {
    const { pieces } = await tx.findOneByOrFail(Product, { sku });
    if (pieces === 0) throw new ConflictException('sold out');
    const fence = FencingGuard.sql('fence', CurrentLock.lease().fencingToken, '$3');
    const [, rows] = await tx.query<[unknown, number]>(
      `UPDATE product SET pieces = $1, ${fence.assignment} WHERE sku = $2 AND ${fence.condition}`,
      [pieces - 1, sku, fence.value],
    );
    if (rows === 0) throw new ConflictException('a newer holder has written');
    return pieces - 1;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      url: process.env.DATABASE_URL ?? 'postgres://127.0.0.1/postgres',
      entities: [Product],
    }),
    RedisLockModule.forRoot({ connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379' }),
  ],
  controllers: [ProductController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM releases the locks
await app.get(LockService).using('schema', async () => {
  const database = app.get(DataSource);
  await database.synchronize(); // two instances that start at once do not make the table twice
  await database.getRepository(Product).upsert({ sku: 'tea', pieces: 5 }, ['sku']);
});
await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
console.log(`listens on ${await app.getUrl()}`);
