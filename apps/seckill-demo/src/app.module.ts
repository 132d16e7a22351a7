import { Inject, Module, StandardSchemaValidationPipe } from '@nestjs/common';
import type { DynamicModule, OnApplicationShutdown } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { Redis } from 'ioredis';
import { LockExceptionFilter, RedisLockModule } from 'nestjs-redis-lock';
import { RedisThrottlerModule } from 'nestjs-redis-lock/throttler';
import { CartController } from './cart/cart.controller.js';
import { CartService } from './cart/cart.service.js';
import { DATABASE, openDatabase } from './database/open-database.js';
import type { Database } from './database/tables.js';
import { ErrorBodyFilter } from './error-body.filter.js';
import type { RealSale } from './orders/real-sale.js';
import { OfferController } from './offer/offer.controller.js';
import { OfferService } from './offer/offer.service.js';
import { PaymentGateway } from './payment/payment-gateway.js';
import { PaymentController } from './payment/payment.controller.js';
import { PaymentService } from './payment/payment.service.js';
import { PriceController } from './price/price.controller.js';
import { PriceService } from './price/price.service.js';
import { ReportController } from './report/report.controller.js';
import { SalesReport } from './report/sales-report.js';
import { CancellationService } from './seckill/cancellation.service.js';
import { GATE } from './seckill/gate.js';
import type { Gate } from './seckill/gate.js';
import { SaleKeys } from './seckill/sale-keys.js';
import { SaleLedger } from './seckill/sale-ledger.js';
import { SALE_LOG } from './seckill/sale-log.js';
import type { SaleLog } from './seckill/sale-log.js';
import { SaleOpening } from './seckill/sale-opening.js';
import { Sale } from './seckill/sale.js';
import { SeckillController } from './seckill/seckill.controller.js';
import { StockService } from './seckill/stock.service.js';
import { REDIS, SETTINGS } from './settings.js';
import type { Settings } from './settings.js';
import { connectRedis } from './shop-redis.js';
import { STRATEGIES, StrategyRegistry } from './strategies/strategy-registry.js';

import { TicketController } from './ticket/ticket.controller.js';
import { TicketService } from './ticket/ticket.service.js';

export interface Seams {
  readonly gate: Gate;
  readonly saleLog: SaleLog;
}

@Module({})
export class AppModule implements OnApplicationShutdown {
  static async register(settings: Settings, seams: Seams): Promise<DynamicModule> {
    const { imports, controllers, providers } = await realSaleOf(settings);
    return {
      module: AppModule,
      imports: [
        RedisLockModule.forRoot({
          connection: settings.redisUrl,
          keyPrefix: settings.keyPrefix,
          watchdogLeaseMs: settings.leaseTimeMs,
          waitTimeMs: settings.waitTimeMs,
          logAcquisitions: settings.logLevel === 'debug',
        }),
        RedisThrottlerModule.forRoot(),
        ...imports,
      ],
      controllers: [
        ...[SeckillController, CartController, OfferController, PaymentController],
        ...[TicketController, ReportController, PriceController],
        ...controllers,
      ],
      providers: [
        { provide: SETTINGS, useValue: settings },
        { provide: REDIS, useFactory: () => connectRedis(settings.redisUrl) },
        { provide: DATABASE, useFactory: () => openDatabase(settings) },
        { provide: GATE, useValue: seams.gate },
        { provide: SALE_LOG, useValue: seams.saleLog },
        { provide: APP_PIPE, useClass: StandardSchemaValidationPipe },
        // Nest calls the last registered filter first.
        { provide: APP_FILTER, useClass: ErrorBodyFilter },
        { provide: APP_FILTER, useClass: LockExceptionFilter },
        ...[SaleKeys, SaleLedger, Sale, SaleOpening, StockService, CancellationService],
        ...[CartService, OfferService, PaymentGateway, PaymentService, TicketService, SalesReport],
        PriceService,
        ...Object.values(STRATEGIES),
        StrategyRegistry,
        ...providers,
      ],
    };
  }

  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(DATABASE) private readonly db: Database,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    this.redis.disconnect();
    await this.db.destroy();
  }
}

async function realSaleOf(settings: Settings): Promise<RealSale> {
  if (!settings.realSale) return { imports: [], controllers: [], providers: [] };
  const [{ realSale }, { OPERATOR }] = await Promise.all([
    import('./orders/real-sale.js'),
    import('./operator/operator.js'),
  ]);
  const sale = realSale(settings);
  return {
    imports: [...sale.imports, ...OPERATOR.imports],
    controllers: [...sale.controllers, ...OPERATOR.controllers],
    providers: [...sale.providers, ...OPERATOR.providers],
  };
}
