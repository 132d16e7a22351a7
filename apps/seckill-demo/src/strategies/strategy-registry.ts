import { Injectable } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { FairStrategy } from './fair.js';
import { InProcessStrategy } from './in-process.js';
import { LockInTxStrategy } from './lock-in-tx.js';
import { LuaReleaseStrategy } from './lua-release.js';
import { NaiveStrategy } from './naive.js';
import { OwnerCheckStrategy } from './owner-check.js';
import { RedisLockStrategy } from './redis-lock.js';
import { SetNxPxStrategy } from './set-nx-px.js';
import { SetnxExpireStrategy } from './setnx-expire.js';
import { SetnxStrategy } from './setnx.js';
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
};

@Injectable()
export class StrategyRegistry {
  constructor(private readonly module: ModuleRef) {}

  get(name: StrategyName): Strategy {
    return this.module.get(STRATEGIES[name]);
  }
}
