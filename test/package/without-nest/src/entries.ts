// Its types are checked with those of the application.
export * as nodeRedis from 'nestjs-redis-lock/node-redis';
