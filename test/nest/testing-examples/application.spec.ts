import { expect, it } from '@jest/globals';
import { Controller, Module, Post, type INestApplication } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { LockExceptionFilter, RedisLockModule, WithLock } from 'nestjs-redis-lock';
import { RedisLockTestingModule } from 'nestjs-redis-lock/testing';

@Controller('reports')
class ReportsController {
  @Post()
  @WithLock('report', { waitTimeMs: 0 })
  async make(): Promise<string> {
    return 'made';
  }
}

@Module({
  imports: [RedisLockModule.forRoot({ connection: 'redis://locks.internal:6379' })],
  controllers: [ReportsController],
  providers: [{ provide: APP_FILTER, useClass: LockExceptionFilter }],
})
class AppModule {}

it('answers 423 while the report is made elsewhere', async () => {
  const builder = Test.createTestingModule({ imports: [AppModule] });
  const locks = RedisLockTestingModule.replaceRedisIn(builder);
  const app: INestApplication = (await builder.compile()).createNestApplication();
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/reports`;

  const lease = await locks.holdElsewhere('report');
  expect((await fetch(url, { method: 'POST' })).status).toBe(423);
  await lease.release();
  expect((await fetch(url, { method: 'POST' })).status).toBe(201);

  await app.close();
});
