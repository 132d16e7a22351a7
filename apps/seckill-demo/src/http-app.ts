import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module.js';
import type { Seams } from './app.module.js';
import { SHOP_LOG_LEVELS } from './options/names.mjs';
import { currentOrder } from './seckill/gate.js';
import type { Settings, ShopLogLevel } from './settings.js';

/** Names the process that answered, so that buyers can spread over all processes. */
export const SERVED_BY = 'x-served-by';
/** `<product>/<buyer>`: the buyer, if neither path nor body names it. */
export const VISIT = 'x-visit';

/** Longer than a measurement: the server must not close a connection with a waiting order. */
const KEEP_ALIVE_MS = 65_000;

export async function createHttpApp(
  settings: Settings,
  seams: Seams,
): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(
    await AppModule.register(settings, seams),
    {
      logger: levelsOf(settings.logLevel),
      forceCloseConnections: true,
      // Otherwise Nest ends the process without a reason when a database is unreachable.
      abortOnError: false,
    },
  );
  app.getHttpServer().keepAliveTimeout = KEEP_ALIVE_MS;
  app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
    response.setHeader(SERVED_BY, process.pid);
    const [, productId, buyer] = /^([\w-]{1,32})\/([\w-]{1,64})$/.exec(visitOf(request)) ?? [];
    if (productId === undefined || buyer === undefined) next();
    else currentOrder.run({ productId, buyer }, next);
  });
  if (settings.realSale) (await import('./operator/interface.js')).serveInterface(app);
  return app;
}

function visitOf({ headers }: IncomingMessage): string {
  const visit = headers[VISIT];
  return typeof visit === 'string' ? visit : '';
}

function levelsOf(lowest: ShopLogLevel): LogLevel[] {
  const shown = SHOP_LOG_LEVELS.slice(0, SHOP_LOG_LEVELS.indexOf(lowest) + 1);
  return shown.filter((level) => level !== 'off');
}
