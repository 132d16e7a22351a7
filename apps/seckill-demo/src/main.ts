import { Logger } from '@nestjs/common';
import { startPostgresServer } from '../../../scripts/postgres-server.mjs';
import { startRedisServer } from '../../../scripts/redis-server.mjs';
import { createHttpApp } from './http-app.js';
import { OPEN_GATE } from './seckill/gate.js';
import { QUIET_LOG } from './seckill/sale-log.js';
import { StockService } from './seckill/stock.service.js';
import { FIRST_PRODUCT, settingsFrom } from './settings.js';

const logger = new Logger('SeckillDemo');
const privateRedis = process.env['REDIS_URL'] ? undefined : await startRedisServer();
const privatePostgres = process.env['DATABASE_URL'] ? undefined : await startPostgresServer();
const settings = settingsFrom({
  SECKILL_REAL_SALE: '1',
  ...process.env,
  ...(privateRedis && { REDIS_URL: privateRedis.url }),
  ...(privatePostgres && { DATABASE_URL: privatePostgres.url }),
});
const app = await createHttpApp(settings, { gate: OPEN_GATE, saleLog: QUIET_LOG });

// Not Nest's shutdown hooks: they end the process as soon as the application is closed. The
// private servers have to outlive the application, which releases its locks.
async function stop(): Promise<void> {
  await app.close();
  await Promise.all([privateRedis?.stop(), privatePostgres?.stop()]);
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => void stop());
}

const { id, stock } = FIRST_PRODUCT;
const stocks = app.get(StockService);
if ((await stocks.stateOf(id)) === null) await stocks.openSale(id, stock);
await app.listen(settings.port, '127.0.0.1');
logger.log(`selling product ${id} at ${await app.getUrl()}`);
