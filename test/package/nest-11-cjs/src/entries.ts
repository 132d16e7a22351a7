// Their types are checked with those of the application.
export * as testing from 'nestjs-redis-lock/testing';
export * as throttler from 'nestjs-redis-lock/throttler';
