import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage, ThrottlerStorageService } from '@nestjs/throttler';
import { RedisThrottlerStorage } from 'nestjs-redis-lock/throttler';

/** The attempts that a visitor may make in this time; a visitor with more is a program. */
export const ATTEMPTS = 5;
const PER_MS = 10_000;
const NAME = 'tickets';

export type TicketOutcome =
  { readonly kind: 'let-in' } | { readonly kind: 'too-many'; readonly retryAfterSeconds: number };

/**
 * A visitor needs a ticket before an order, and gets few of them. Both ways count with
 * `@nestjs/throttler`; they differ in where they count.
 */
@Injectable()
export class TicketService {
  #ownMemory: ThrottlerStorageService | undefined;

  constructor(private readonly shared: RedisThrottlerStorage) {}

  /** Counts in Redis, for all processes together. */
  take(visitor: string): Promise<TicketOutcome> {
    return attempt(this.shared, visitor);
  }

  /** The wrong way: each process counts for itself, so the limit grows with each process. */
  async takeHere(visitor: string): Promise<TicketOutcome> {
    // Not above: Jest loads this package only from Node 24 on.
    const { ThrottlerStorageService } = await import('@nestjs/throttler');
    this.#ownMemory ??= new ThrottlerStorageService();
    return attempt(this.#ownMemory, visitor);
  }

  onApplicationShutdown(): void {
    this.#ownMemory?.onApplicationShutdown();
  }
}

async function attempt(storage: ThrottlerStorage, visitor: string): Promise<TicketOutcome> {
  const hit = await storage.increment(visitor, PER_MS, ATTEMPTS, PER_MS, NAME);
  if (!hit.isBlocked) return { kind: 'let-in' };
  return { kind: 'too-many', retryAfterSeconds: hit.timeToBlockExpire };
}
