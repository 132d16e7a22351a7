import { NestFactory } from '@nestjs/core';
import { LockExceptionFilter } from 'nestjs-redis-lock';
import { AppModule } from './app.module';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  app.useGlobalFilters(new LockExceptionFilter());
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  console.log(`Listening on ${await app.getUrl()}`);
}

void bootstrap();
