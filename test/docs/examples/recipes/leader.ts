import {
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { LockService } from 'nestjs-redis-lock';
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves or rejects soon after the signal aborts: from then on another instance leads. */
export abstract class LeaderWork {
  abstract run(signal: AbortSignal): Promise<void>;
}

@Injectable()
export class Leader implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(Leader.name);
  private readonly end = new AbortController();
  private terms: Promise<void> | undefined;

  constructor(
    private readonly locks: LockService,
    private readonly work: LeaderWork,
  ) {}

  onApplicationBootstrap(): void {
    this.terms = this.lead(this.end.signal);
  }

  /** Hands over: the work ends, and then the lock is released. */
  async onModuleDestroy(): Promise<void> {
    this.end.abort();
    await this.terms;
  }

  private async lead(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await this.serve(end).catch(async (error: unknown) => {
        if (end.aborted) return;
        this.logger.warn(`stands for election again: ${String(error)}`);
        await delay(1_000, undefined, { signal: end }).catch(() => undefined);
      });
    }
  }

  private async serve(end: AbortSignal): Promise<void> {
    await using lease = await this.locks.acquire('leader', { waitTimeMs: Infinity, signal: end });
    await this.work.run(AbortSignal.any([lease.signal, end]));
  }
}
