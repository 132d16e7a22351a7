import { Logger } from '@nestjs/common';
import { startRedisServer } from '../../../scripts/redis-server.mjs';
import { createHttpApp } from './http-app.js';
import { OPEN_GATE } from './seckill/gate.js';
import { QUIET_LOG } from './seckill/sale-log.js';
import { StockService } from './seckill/stock.service.js';
import { settingsFrom } from './settings.js';

const FIRST_STOCK = 100;

const logger = new Logger('SeckillDemo');
const privateRedis = process.env['REDIS_URL'] ? undefined : await startRedisServer();
const settings = settingsFrom({
  ...process.env,
  ...(privateRedis && { REDIS_URL: privateRedis.url }),
});
const app = await createHttpApp(settings, { gate: OPEN_GATE, saleLog: QUIET_LOG }, [
  'log',
  'warn',
  'error',
]);

// Not Nest's shutdown hooks: the private Redis has to outlive the application that gives back its
// locks, and those hooks end the process as soon as the application is closed.
async function stop(): Promise<void> {
  await app.close();
  await privateRedis?.stop();
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => void stop());

const stock = app.get(StockService);
if ((await stock.stateOf('1')) === null) await stock.openSale('1', FIRST_STOCK);
await app.listen(settings.port, '127.0.0.1');
logger.log(`selling product 1 at ${await app.getUrl()}`);
