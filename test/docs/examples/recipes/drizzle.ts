import { ConflictException, Inject, Injectable } from '@nestjs/common';
import { eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';

export const product = pgTable('product', {
  sku: text('sku').primaryKey(),
  pieces: integer('pieces').notNull(),
});
export const DATABASE = Symbol('database'); // provides drizzle(process.env.DATABASE_URL)

@Injectable()
export class OrderService {
  constructor(@Inject(DATABASE) private readonly database: NodePgDatabase) {}

  @WithLock('product_<sku>')
  async buy(@LockKey('sku') sku: string): Promise<number> {
    return this.database.transaction(async (tx) => {
      const [row] = await tx.select().from(product).where(eq(product.sku, sku));
      if (!row || row.pieces === 0) throw new ConflictException('sold out');
      const left = row.pieces - 1;
      await tx.update(product).set({ pieces: left }).where(eq(product.sku, sku));
      CurrentLock.lease().assertHeld(); // before the commit
      return left;
    });
  }
}
