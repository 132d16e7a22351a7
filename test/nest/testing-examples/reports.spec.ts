import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { WithLock } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';

class Reports {
  @WithLock('report')
  async make() {
    return 'made';
  }
}

it('makes a report', async () => {
  const imports = [RedisLockTestingModule.forRoot()];
  const app = await Test.createTestingModule({ imports, providers: [Reports] }).compile();
  expect(await app.get(Reports).make()).toBe('made');
  await app.close();
});
