import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { LockMonitor } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';
import { eventually } from '../support/eventually.js';
import { pageOf } from '../support/proofs.js';
import { AppModule } from './examples/quick-start.js';

describe('docs/quick-start.md', () => {
  it('shows the application that is tried here', () => {
    expect(pageOf('docs/quick-start.md')).toContain(pageOf('test/docs/examples/quick-start.ts'));
  });

  it('answers the second buyer as the page shows', async () => {
    const builder = Test.createTestingModule({ imports: [AppModule] });
    const locks = RedisLockTestingModule.replaceRedisIn(builder);
    const app = (await builder.compile()).createNestApplication({ forceCloseConnections: true });
    await app.listen(0, '127.0.0.1');
    try {
      const first = await locks.holdElsewhere('product_1');
      const asking = fetch(`${await app.getUrl()}/products/1/orders`, { method: 'POST' });
      await eventually(() => app.get(LockMonitor).status().waiting === 1);
      await locks.clock.advance(1_000);
      const answer = await asking;
      const retryAfter = String(answer.headers.get('retry-after'));
      const shown =
        `HTTP/1.1 ${answer.status} ${answer.statusText}\nRetry-After: ${retryAfter}\n…\n` +
        `${await answer.text()}\n`;
      expect(pageOf('docs/quick-start.md')).toContain(shown);
      await first.release();
    } finally {
      await app.close();
    }
  });
});
