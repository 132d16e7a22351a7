import { Inject, Injectable } from '@nestjs/common';
import type { UpdateResult } from 'kysely';
import { LockService } from 'nestjs-redis-lock';
import { DATABASE } from '../database/open-database.js';
import type { Database } from '../database/tables.js';
import { overtaken } from '../seckill/fence.js';
import { GATE } from '../seckill/gate.js';
import type { Gate } from '../seckill/gate.js';

interface PriceChanged {
  readonly kind: 'changed';
}

/** Sets only the price, under the lock of the product. The last holder of the lock decides it. */
@Injectable()
export class PriceService {
  constructor(
    private readonly locks: LockService,
    @Inject(DATABASE) private readonly db: Database,
    @Inject(GATE) private readonly gate: Gate,
  ) {}

  /** Each holder has a higher token than the holder before; the database refuses a lower one. */
  change(productId: string, price: number): Promise<PriceChanged> {
    return this.#holding(productId, (token) =>
      this.db
        .updateTable('products')
        .set({ price, fence: token })
        .where('id', '=', productId)
        .where('fence', '<=', token)
        .executeTakeFirst(),
    );
  }

  /** The wrong way: a process that was frozen after the check overwrites newer writes. */
  changeUnfenced(productId: string, price: number): Promise<PriceChanged> {
    return this.#holding(productId, () =>
      this.db.updateTable('products').set({ price }).where('id', '=', productId).executeTakeFirst(),
    );
  }

  #holding(
    productId: string,
    write: (token: string) => Promise<UpdateResult>,
  ): Promise<PriceChanged> {
    return this.locks.using(
      `product_${productId}`,
      async (lease) => {
        await this.gate.reach('lock-set');
        lease.assertHeld();
        // A process may stand still here for longer than its lease: no check of its own can help.
        await this.gate.reach('before-write');
        const token = String(lease.fencingToken);
        const { numUpdatedRows } = await write(token);
        if (numUpdatedRows === 0n) throw await overtaken(this.db, productId, token);
        await this.gate.reach('after-write');
        return { kind: 'changed' };
      },
      { fenced: true },
    );
  }
}
