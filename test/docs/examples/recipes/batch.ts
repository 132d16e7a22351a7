import { Processor, WorkerHost } from '@nestjs/bullmq';
import type { Job } from 'bullmq';
import { LockService } from 'nestjs-redis-lock';

export abstract class Stock {
  // A second call for the same job and product changes nothing.
  abstract add(sku: string, jobId: string): Promise<void>;
}

@Processor('deliveries', { lockDuration: 60_000 })
export class Deliveries extends WorkerHost {
  constructor(
    private readonly locks: LockService,
    private readonly stock: Stock,
  ) {
    super();
  }

  async process({ id = '', data: { skus } }: Job<{ skus: string[] }>): Promise<void> {
    const products = this.locks.multi(skus.map((sku) => `product_${sku}`));
    await products.using(async (lease) => {
      for (const sku of skus) {
        lease.assertHeld();
        await this.stock.add(sku, id);
      }
    });
  }
}
