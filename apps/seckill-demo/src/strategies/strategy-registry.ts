import { Injectable } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { FairStrategy } from './fair.js';
import { FencedStrategy } from './fenced.js';
import { InProcessStrategy } from './in-process.js';
import { LockInTxStrategy } from './lock-in-tx.js';
import { LuaDecrementStrategy } from './lua-decrement.js';
import { LuaReleaseStrategy } from './lua-release.js';
import { NaiveStrategy } from './naive.js';
import { OwnerCheckStrategy } from './owner-check.js';
import { RedisLockStrategy } from './redis-lock.js';
import { RedisSemaphoreStrategy } from './redis-semaphore.js';
import { RedlockStrategy } from './redlock.js';
import { SetNxPxStrategy } from './set-nx-px.js';
import { SetnxExpireStrategy } from './setnx-expire.js';
import { SetnxStrategy } from './setnx.js';
import { SqlUpdateStrategy } from './sql-update.js';
import type { Strategy, StrategyName } from './strategy.js';

export const STRATEGIES: Readonly<Record<StrategyName, Type<Strategy>>> = {
  naive: NaiveStrategy,
  'in-process': InProcessStrategy,
  setnx: SetnxStrategy,
  'setnx-expire': SetnxExpireStrategy,
  'set-nx-px': SetNxPxStrategy,
  'owner-check': OwnerCheckStrategy,
  'lua-release': LuaReleaseStrategy,
  'redis-lock': RedisLockStrategy,
  fair: FairStrategy,
  'lock-in-tx': LockInTxStrategy,
  fenced: FencedStrategy,
  'sql-update': SqlUpdateStrategy,
  'lua-decrement': LuaDecrementStrategy,
  redlock: RedlockStrategy,
  'redis-semaphore': RedisSemaphoreStrategy,
};

@Injectable()
export class StrategyRegistry {
  constructor(private readonly module: ModuleRef) {}

  get(name: StrategyName): Strategy {
    return this.module.get(STRATEGIES[name]);
  }
}
