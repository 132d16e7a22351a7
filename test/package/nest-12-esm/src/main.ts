import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
console.log(`Listening on ${await app.getUrl()}`);
