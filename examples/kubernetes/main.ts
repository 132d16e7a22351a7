import 'reflect-metadata';

import { Controller, Get, Injectable, Module } from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { LockService, RedisLockModule } from 'nestjs-redis-lock';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import { setTimeout as delay } from 'node:timers/promises';

const { HOST = '127.0.0.1', PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
const pause = (signal: AbortSignal) => delay(1_000, undefined, { signal }).catch(() => undefined);

@Injectable()
class Leader implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly end = new AbortController();
  private terms: Promise<void> | undefined;

  constructor(private readonly locks: LockService) {}

  onApplicationBootstrap(): void {
    this.terms = this.lead(this.end.signal);
  }

  async onModuleDestroy(): Promise<void> {
    this.end.abort();
    await this.terms;
  }

  private async lead(end: AbortSignal): Promise<void> {
    const options = { waitTimeMs: Infinity, signal: end };
    while (!end.aborted) {
      await this.locks
        .using('leader', ({ signal }) => this.work(AbortSignal.any([signal, end])), options)
        .catch(() => pause(end)); // the lock is lost, or Redis is away
    }
  }

  private async work(signal: AbortSignal): Promise<void> {
    console.log('leads');
    while (!signal.aborted) await pause(signal); // your work, until the signal aborts
    console.log('leads no longer');
  }
}

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  @Get('ready')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.locks.isHealthy('locks', { timeoutMs: 500 })]);
  }

  @Get('live') // does not check Redis: a restart of the pod does not bring Redis back
  live(): string {
    return 'ok';
  }
}

@Module({
  imports: [
    TerminusModule,
    RedisLockModule.forRoot({ connection: REDIS_URL, shutdownTimeoutMs: 10_000 }),
  ],
  controllers: [HealthController],
  providers: [Leader, LockHealthIndicator],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.enableShutdownHooks(); // SIGTERM ends the work and releases the lock
await app.listen(Number(PORT), HOST);
console.log(`listens on ${await app.getUrl()}`);
