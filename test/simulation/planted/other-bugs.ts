import { GUARDED_WRITE } from '../../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.scripts.js';
import { NodeGuard } from '../../../libs/redis-lock/src/primitives/red-lock/node-guard.js';
import { QuorumConnection } from '../../../libs/redis-lock/src/primitives/red-lock/quorum-connection.js';
import { LockService } from '../../../libs/redis-lock/src/primitives/lock/lock-service.js';
import type { Script } from '../../../libs/redis-lock/src/core/redis/script.js';
import { PassThrough } from '../../support/pass-through.js';
import {
  connection,
  member,
  PARTIAL_MULTI_LOCK_KEPT,
  script,
} from '../../faults/support/planted.js';
import type { Bug } from './planted.js';

export const GUARD_BUGS: Record<string, Bug> = {
  'a stale write is accepted': script(
    GUARDED_WRITE,
    'if newest and tonumber(token) < tonumber(newest) then return 0 end',
    '',
  ),
  'the newest holder is refused': script(
    GUARDED_WRITE,
    'tonumber(token) < tonumber(newest)',
    'tonumber(token) <= tonumber(newest)',
  ),
  'a write leaves no token': script(
    GUARDED_WRITE,
    `redis.call('set', fence, token, 'px', fenceTtlMs)`,
    '',
  ),
};

export const REPLICATED_BUGS: Record<string, Bug> = {
  'no replica is waited for': connection(
    class extends PassThrough {
      override run<K extends string, A extends string, R>(
        script: Script<K, A, R>,
        keys: readonly string[],
        args: readonly (string | number)[],
      ) {
        return this.inner.run(script, keys, args, 0);
      }
    },
  ),
};

export const MULTI_BUGS: Record<string, Bug> = {
  'what was acquired before a refusal is kept': PARTIAL_MULTI_LOCK_KEPT,
  'callers wait in any order': member(LockService.prototype, 'multi', {
    value(this: LockService, names: readonly string[]) {
      const all = multi.call(this, names) as unknown as { locks: { name: string }[] };
      all.locks = names.flatMap((name) => all.locks.filter((one) => one.name === name));
      return all;
    },
  }),
};

const { multi } = LockService.prototype;

export const RED_BUGS: Record<string, Bug> = {
  'half of the servers are enough': smallerQuorum(),
  'a restarted server votes at once': member(NodeGuard.prototype, 'admit', {
    value(this: NodeGuard) {
      return this.identify().then(() => 0);
    },
  }),
};

function smallerQuorum(): Bug {
  return {
    install: () => {
      const prototype = QuorumConnection.prototype as { quorum?: number };
      Object.defineProperty(prototype, 'quorum', {
        configurable: true,
        get: () => 1,
        set: () => undefined,
      });
      return () => {
        delete prototype.quorum;
      };
    },
  };
}
