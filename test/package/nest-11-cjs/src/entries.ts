// Their types are checked with those of the application.
export * as swagger from 'nestjs-redis-lock/swagger';
export * as testing from 'nestjs-redis-lock/testing';
export * as throttler from 'nestjs-redis-lock/throttler';
