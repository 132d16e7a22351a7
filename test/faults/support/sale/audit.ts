import type { Database } from '../../../../apps/seckill-demo/src/database/tables.js';
import type { Sale } from './sale.js';

/** The faults in the books when all is over. It reads the tables by itself, and trusts no code of the shop. */
export async function audit(database: Database, sale: Sale): Promise<string[]> {
  const [products, orders, payments, entries, charges, reconciliations] = await Promise.all([
    database.selectFrom('products').selectAll().execute(),
    database.selectFrom('orders').selectAll().execute(),
    database.selectFrom('payments').selectAll().execute(),
    database.selectFrom('ledger').selectAll().execute(),
    database.selectFrom('gateway_charges').where('state', '=', 'charged').selectAll().execute(),
    database.selectFrom('reconciliations').selectAll().execute(),
  ]);
  const ids = new Set(orders.map(({ id }) => id));
  const paid = orders.filter(({ state }) => state === 'paid').map(({ id }) => id);
  const open = orders.filter(({ state }) => ['queued', 'paying', 'reserved'].includes(state));
  const findings = [
    ...difference('accepted, and lost', sale.accepted, ids),
    ...difference('thanked, and not paid', sale.thanked, new Set(paid)),
    ...difference('paid without a payment', paid, of(payments, 'order_id')),
    ...difference('a payment, and not paid', of(payments, 'order_id'), new Set(paid)),
    ...difference('paid and never charged', paid, of(charges, 'reference')),
    ...difference('charged and not paid', of(charges, 'reference'), new Set(paid)),
    ...open.map(({ id, state }) => `order ${id} is still ${state}`),
    ...reconciliations.flatMap((row) => row.differences.map((text) => `once, ${text}`)),
  ];
  for (const { id, stock, opening_stock } of products) {
    const sold = orders.filter(({ product_id, state }) => product_id === id && state === 'paid');
    const changes = entries.filter(({ product_id }) => product_id === id);
    const ledger = changes.reduce((sum, { change }) => sum + change, 0);
    if (stock !== 0) findings.push(`product ${id}: ${stock} left, with buyers who wanted them`);
    if (ledger !== stock)
      findings.push(`product ${id}: ${stock} in stock, ${ledger} by the ledger`);
    if (sold.length !== opening_stock) {
      findings.push(`product ${id}: ${sold.length} of ${opening_stock} pieces sold`);
    }
  }
  return findings;
}

function of<K extends string>(rows: ReadonlyArray<Record<K, string>>, column: K): Set<string> {
  return new Set(rows.map((row) => row[column]));
}

function difference(what: string, some: Iterable<string>, others: ReadonlySet<string>): string[] {
  return [...some].filter((id) => !others.has(id)).map((id) => `order ${id}: ${what}`);
}
