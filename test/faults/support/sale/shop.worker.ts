import type { Gate, GatePoint } from '../../../../apps/seckill-demo/src/seckill/gate.js';
import { serve } from '../../../support/worker.js';

// One process of the shop, which may be killed while it starts as well.

let last: GatePoint | undefined;
const gate: Gate = {
  reach: (point) => {
    if (point === last) process.kill(process.pid, 'SIGKILL');
    return Promise.resolve();
  },
};

const api = {
  /** The next order that comes to this point of its way ends the process there. */
  dieAt(point: GatePoint): void {
    last = point;
  },
  /** Resolves with its url. */
  async start(): Promise<string> {
    const [{ createHttpApp }, { settingsFrom }, { QUIET_LOG }] = await Promise.all([
      import('../../../../apps/seckill-demo/src/http-app.js'),
      import('../../../../apps/seckill-demo/src/settings.js'),
      import('../../../../apps/seckill-demo/src/seckill/sale-log.js'),
    ]);
    const app = await createHttpApp(settingsFrom(process.env), { gate, saleLog: QUIET_LOG });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },
};

export type ShopApi = typeof api;
serve(api);
