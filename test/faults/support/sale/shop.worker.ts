import { serve } from '../../../support/worker.js';

// One process of the shop, which may be killed while it starts as well.

const api = {
  /** Resolves with its url. */
  async start(): Promise<string> {
    const [{ createHttpApp }, { settingsFrom }, { OPEN_GATE }, { QUIET_LOG }] = await Promise.all([
      import('../../../../apps/seckill-demo/src/http-app.js'),
      import('../../../../apps/seckill-demo/src/settings.js'),
      import('../../../../apps/seckill-demo/src/seckill/gate.js'),
      import('../../../../apps/seckill-demo/src/seckill/sale-log.js'),
    ]);
    const seams = { gate: OPEN_GATE, saleLog: QUIET_LOG };
    const app = await createHttpApp(settingsFrom(process.env), seams);
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },
};

export type ShopApi = typeof api;
serve(api);
