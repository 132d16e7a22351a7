import 'reflect-metadata';

import {
  Controller,
  Get,
  Injectable,
  Module,
  Param,
  Post,
  type INestApplication,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { LockExceptionFilter, LockKey, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { LockHealthIndicator } from 'nestjs-redis-lock/terminus';
import { report, serve } from '../support/worker.js';

let stops = false;
let open: () => void = () => undefined;
const opened = new Promise<void>((resolve) => {
  open = resolve;
});

@Injectable()
class Gateway {
  async charge(order: string): Promise<string> {
    if (stops) {
      report('inside');
      await opened;
    }
    return `${order} is paid`;
  }
}

@Controller('orders')
class OrderController {
  constructor(private readonly gateway: Gateway) {}

  @Post(':id/payment')
  @WithLock('order_<id>')
  async pay(@LockKey('id') @Param('id') id: string): Promise<string> {
    return this.gateway.charge(id);
  }
}

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** Checks Redis: an instance that cannot acquire locks gets no requests. */
  @Get('ready')
  @HealthCheck()
  ready() {
    return this.health.check([() => this.locks.isHealthy('locks', { timeoutMs: 500 })]);
  }

  /** Checks nothing else: a restart does not bring Redis back. */
  @Get('live')
  live(): string {
    return 'ok';
  }
}

@Module({
  imports: [
    TerminusModule,
    RedisLockModule.forRoot({
      connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
      shutdownTimeoutMs: 10_000,
    }),
  ],
  controllers: [OrderController, HealthController],
  providers: [Gateway, LockHealthIndicator, { provide: APP_FILTER, useClass: LockExceptionFilter }],
})
class AppModule {}

async function main(port: number): Promise<INestApplication> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  app.enableShutdownHooks(); // without it SIGTERM ends the process, and its locks stay for a lease
  await app.listen(port);
  return app;
}

const api = {
  start: async () => (await main(0)).getUrl(),
  /** Payments take until `open()`. */
  shut: () => {
    stops = true;
  },
  open: () => {
    open();
  },
};
export type Api = typeof api;
serve(api);
