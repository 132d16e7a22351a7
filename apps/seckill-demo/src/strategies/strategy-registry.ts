import { Injectable } from '@nestjs/common';
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

export const STRATEGIES = [
  NaiveStrategy,
  InProcessStrategy,
  SetnxStrategy,
  SetnxExpireStrategy,
  SetNxPxStrategy,
  OwnerCheckStrategy,
  LuaReleaseStrategy,
  RedisLockStrategy,
  FairStrategy,
  LockInTxStrategy,
];

@Injectable()
export class StrategyRegistry {
  readonly #byName: Record<StrategyName, Strategy>;

  constructor(
    naive: NaiveStrategy,
    inProcess: InProcessStrategy,
    setnx: SetnxStrategy,
    setnxExpire: SetnxExpireStrategy,
    setNxPx: SetNxPxStrategy,
    ownerCheck: OwnerCheckStrategy,
    luaRelease: LuaReleaseStrategy,
    redisLock: RedisLockStrategy,
    fair: FairStrategy,
    lockInTx: LockInTxStrategy,
  ) {
    this.#byName = {
      naive,
      'in-process': inProcess,
      setnx,
      'setnx-expire': setnxExpire,
      'set-nx-px': setNxPx,
      'owner-check': ownerCheck,
      'lua-release': luaRelease,
      'redis-lock': redisLock,
      fair,
      'lock-in-tx': lockInTx,
    };
  }

  get(name: StrategyName): Strategy {
    return this.#byName[name];
  }
}
