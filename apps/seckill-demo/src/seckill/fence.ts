import type { Database } from '../database/tables.js';
import { OrderRefusedError } from './order-outcome.js';

/** The reason of a refusal by the fence: the database has seen a newer holder. */
export async function overtaken(
  db: Database,
  productId: string,
  token: string,
): Promise<OrderRefusedError> {
  const product = await db
    .selectFrom('products')
    .select('fence')
    .where('id', '=', productId)
    .executeTakeFirst();
  if (product === undefined) return new OrderRefusedError({ kind: 'unknown-product' });
  const reason = `token ${token} < ${product.fence}`;
  return new OrderRefusedError({ kind: 'stale-write', reason });
}
