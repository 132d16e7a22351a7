import { Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';

// A table with a unique index on `orderId`.
export abstract class Payments {
  abstract find(orderId: string): Promise<string | undefined>;
  abstract insert(orderId: string, receipt: string): Promise<void>;
}

// A provider that takes an idempotency key, as most of them do.
export abstract class PaymentProvider {
  abstract charge(orderId: string, idempotencyKey: string): Promise<string>;
}

@Injectable()
export class Checkout {
  constructor(
    private readonly payments: Payments,
    private readonly provider: PaymentProvider,
  ) {}

  @WithLock('payment_<order>')
  async charge(@LockKey('order') orderId: string): Promise<string> {
    const paid = await this.payments.find(orderId);
    if (paid !== undefined) return paid; // the call before this one has charged
    CurrentLock.lease().assertHeld();
    const receipt = await this.provider.charge(orderId, orderId);
    await this.payments.insert(orderId, receipt);
    return receipt;
  }
}
