import { Injectable } from '@nestjs/common';
import { LockKey, SemaphoreService, WithLock } from 'nestjs-redis-lock';
import { SaleLedger } from '../seckill/sale-ledger.js';
import { AT_ONCE, PaymentGateway } from './payment-gateway.js';

export type PaymentOutcome =
  | { readonly kind: 'paid'; readonly inside: number }
  | { readonly kind: 'no-order' | 'paid-before' };

@Injectable()
export class PaymentService {
  constructor(
    private readonly semaphores: SemaphoreService,
    private readonly gateway: PaymentGateway,
    private readonly ledger: SaleLedger,
  ) {}

  /** Waits for one of the five permits that all processes share. The permit of a crashed payer expires. */
  async pay(productId: string, buyer: string): Promise<PaymentOutcome> {
    // The first one sets their number, whichever process that is.
    const permits = this.semaphores.get('payments', { capacity: AT_ONCE });
    return permits.using(() => this.payAtOnce(productId, buyer));
  }

  /** The wrong way: any number of payments at once. The order itself is still paid only once. */
  @WithLock('payment_<id>_<buyer>')
  async payAtOnce(
    @LockKey('id') productId: string,
    @LockKey('buyer') buyer: string,
  ): Promise<PaymentOutcome> {
    const state = await this.ledger.orderStateOf(productId, buyer);
    if (state === null) return { kind: 'no-order' };
    if (state === 'paid') return { kind: 'paid-before' };
    const { inside } = await this.gateway.charge(`${productId}:${buyer}`);
    const isRecorded = await this.ledger.recordPayment(productId, buyer);
    return isRecorded ? { kind: 'paid', inside } : { kind: 'no-order' };
  }
}
