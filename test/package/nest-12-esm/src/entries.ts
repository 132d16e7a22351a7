// Their types are checked with those of the application.
export * as otel from 'nestjs-redis-lock/otel';
export * as prometheus from 'nestjs-redis-lock/prometheus';
export * as swagger from 'nestjs-redis-lock/swagger';
export * as testing from 'nestjs-redis-lock/testing';
export * as terminus from 'nestjs-redis-lock/terminus';
