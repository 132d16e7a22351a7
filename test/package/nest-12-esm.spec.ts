import { describeConsumer } from './consumer.contract.js';

describeConsumer('nest-12-esm', {
  versions: {
    '@nestjs/core': /^12\./,
    '@nestjs/swagger': /^12\./,
    redis: /^6\./,
    typescript: /^6\./,
  },
  lacks: ['throttler'],
});
