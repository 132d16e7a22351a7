import { Inject, Injectable } from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { overtaken } from '../seckill/fence.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';
import { SaleLedger } from '../seckill/sale-ledger.js';

interface PriceChanged {
  readonly kind: 'changed';
}

/** The price alone, under the lock of the product. The last one who took the lock has the last word. */
@Injectable()
export class PriceService {
  constructor(
    private readonly locks: LockService,
    private readonly ledger: SaleLedger,
    @Inject(DATABASE) private readonly db: Database,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  /** Each holder has a higher token than the one before; the database refuses a lower one. */
  change(productId: string, price: number): Promise<PriceChanged> {
    return this.#holding(productId, async (token) => {
      const written = await this.db
        .updateTable('products')
        .set({ price, fence: token })
        .where('id', '=', productId)
        .where('fence', '<=', token)
        .returning('id')
        .executeTakeFirst();
      if (written === undefined) throw await overtaken(this.db, productId, token);
    });
  }

  /** How not to do it: whoever stood still after the check writes over what others wrote since. */
  changeUnfenced(productId: string, price: number): Promise<PriceChanged> {
    return this.#holding(productId, () => this.ledger.setPrice(productId, price));
  }

  #holding(productId: string, write: (token: string) => Promise<void>): Promise<PriceChanged> {
    return this.locks.using(
      `product_${productId}`,
      async (lease) => {
        await this.gate.reach('lock-set');
        lease.assertHeld();
        // A process may stand still here for longer than its lease: no check of its own can help.
        await this.gate.reach('before-write');
        await write(String(lease.fencingToken));
        await this.gate.reach('after-write');
        return { kind: 'changed' };
      },
      { fenced: true },
    );
  }
}
