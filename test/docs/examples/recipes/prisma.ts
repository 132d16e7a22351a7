import { ConflictException, Injectable } from '@nestjs/common';
import { CurrentLock, LockKey, WithLock } from 'nestjs-redis-lock';
import { PrismaClient } from '../generated/prisma/client.js';

@Injectable()
export class OrderService {
  constructor(private readonly prisma: PrismaClient) {}

  @WithLock('product_<sku>')
  async buy(@LockKey('sku') sku: string): Promise<number> {
    return this.prisma.$transaction(async (tx) => {
      const { pieces } = await tx.product.findUniqueOrThrow({ where: { sku } });
      if (pieces === 0) throw new ConflictException('sold out');
      await tx.product.update({ where: { sku }, data: { pieces: pieces - 1 } });
      CurrentLock.lease().assertHeld(); // before the commit
      return pieces - 1;
    });
  }
}
