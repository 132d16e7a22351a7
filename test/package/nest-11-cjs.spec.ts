import { describeConsumer } from './consumer.contract.js';

describeConsumer('nest-11-cjs', {
  versions: {
    '@nestjs/core': /^11\./,
    '@nestjs/swagger': /^11\./,
    '@nestjs/throttler': /^6\./,
    ioredis: /^5\./,
    typescript: /^5\.9\./,
  },
  lacks: ['otel', 'prometheus', 'terminus'],
});
