import { createHash } from 'node:crypto';

import type { Clock } from '../../../libs/redis-lock/src/core/time/clock.js';
import {
  ACQUIRE,
  ACQUIRE_NESTED,
  RELEASE_SOME,
  RENEW,
} from '../../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import { Hold } from '../../../libs/redis-lock/src/core/holding/hold.js';
import { HeldLease } from '../../../libs/redis-lock/src/core/holding/held-lease.js';
import { HeldMultiLease } from '../../../libs/redis-lock/src/primitives/multi-lock/multi-lease.js';
import { WakeUps } from '../../../libs/redis-lock/src/core/waiting/wake-ups.js';
import type {
  ChannelListener,
  RedisConnection,
  Reply,
} from '../../../libs/redis-lock/src/core/redis/connection.js';
import {
  ACQUIRE_OR_QUEUE,
  RELEASE,
  PASS,
  PASS_IN_ORDER,
} from '../../../libs/redis-lock/src/primitives/lock/lock.scripts.js';
import type { ApplicationOptions } from './application.js';
import { PassThrough } from '../../support/pass-through.js';

/** How a library differs that is broken on purpose, in one place. */
export interface Bug {
  /** For every application. */
  readonly options?: ApplicationOptions;
  /** Changes a class; the returned function changes it back. */
  readonly install?: () => () => void;
}

/** A script in which one text is replaced by another; it must be there, or the bug were not. */
export function brokenScript(
  { name, lua }: { name: string; lua: string },
  text: string | RegExp,
  replacement: string,
): { lua: string; sha1: string } {
  const broken = lua.replace(text, () => replacement);
  if (broken === lua) throw new Error(`${name} has no ${String(text)} to be replaced`);
  return { lua: broken, sha1: createHash('sha1').update(broken).digest('hex') };
}

export function script(
  original: { name: string; lua: string },
  text: string | RegExp,
  replacement: string,
): Bug {
  return scripts([original], text, replacement);
}

/** The same in several scripts. */
export function scripts(
  originals: readonly { name: string; lua: string }[],
  text: string | RegExp,
  replacement: string,
): Bug {
  const broken = new Map(
    originals.map((original) => [original.name, brokenScript(original, text, replacement)]),
  );
  return connection(
    class extends PassThrough {
      protected override patch<S extends { name: string; lua: string; sha1: string }>(script: S) {
        return { ...script, ...broken.get(script.name) };
      }
    },
  );
}

/** Several bugs that make one. */
export function together(...bugs: readonly Bug[]): Bug {
  const decorate = (inner: RedisConnection) =>
    bugs.reduce((port, { options }) => options?.decorate?.(port) ?? port, inner);
  const install = () => {
    const undo = bugs.map((bug) => bug.install?.()).reverse();
    return () => {
      for (const step of undo) step?.();
    };
  };
  return { options: { decorate }, install };
}

export function connection(Broken: new (inner: RedisConnection) => RedisConnection): Bug {
  return { options: { decorate: (inner) => new Broken(inner) } };
}

export function member<T extends object>(
  prototype: T,
  name: keyof T,
  broken: PropertyDescriptor,
): Bug {
  return {
    install: () => {
      const original = Object.getOwnPropertyDescriptor(prototype, name);
      if (original === undefined) throw new Error(`There is no ${String(name)} to be replaced`);
      Object.defineProperty(prototype, name, { ...broken, configurable: true });
      return () => Object.defineProperty(prototype, name, original);
    },
  };
}

export const ENTRY_WHILE_OTHERS_ARE_IN: Bug = scripts(
  [ACQUIRE, ACQUIRE.fenced, ACQUIRE_OR_QUEUE, ACQUIRE_OR_QUEUE.fenced],
  'if left == -2 then',
  "if left == -2 or redis.call('hexists', lock, owner) == 0 then",
);

/** As a plain lock does it: every entry of the owner is one more, also one that is sent again. */
export const ENTRY_COUNTS_UP: Bug = together(
  scripts(
    [ACQUIRE, ACQUIRE.fenced],
    `if held ~= '1' then redis.call('hset', lock, owner, '1') end`,
    `redis.call('hincrby', lock, owner, 1)`,
  ),
  scripts(
    [ACQUIRE_NESTED, ACQUIRE_NESTED.fenced],
    `if tonumber(held) ~= holdCount then redis.call('hset', lock, owner, holdCount) end`,
    `redis.call('hincrby', lock, owner, 1)`,
  ),
  scripts(
    [ACQUIRE_OR_QUEUE, ACQUIRE_OR_QUEUE.fenced],
    `if held == '0' then redis.call('hset', lock, owner, '1') end`,
    `redis.call('hincrby', lock, owner, 1)`,
  ),
);

const GOES_DOWN = /if tonumber\(held\) > holdCount then[^]*$/;

export const RELEASE_COUNTS_DOWN: Bug = script(
  RELEASE_SOME,
  GOES_DOWN,
  `redis.call('hincrby', lock, owner, -1)\nreturn 'done'`,
);

export const RELEASE_FREES_ALL_HOLDS: Bug = script(
  RELEASE_SOME,
  GOES_DOWN,
  `redis.call('del', lock)\nreturn 'done'`,
);

export const RELEASE_OF_ANY_OWNER: Bug = together(
  script(RELEASE, `redis.call('hget', lock, owner)`, `redis.call('hvals', lock)[1]`),
  scripts(
    [PASS, PASS_IN_ORDER],
    `if not redis.call('hget', lock, owner) then`,
    `if redis.call('exists', lock) == 0 then`,
  ),
);

/** A client that finds its lock taken reports a normal release. */
export const RELEASE_HIDES_THE_LOSS: Bug = connection(
  class extends PassThrough {
    protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
      const reply = await run();
      const hides = reply.value === 'absent' || reply.value === 'had';
      return hides ? { ...reply, value: 'done' as R } : reply;
    }
  },
);

export const ENTRY_WITHOUT_TTL: Bug = script(
  ACQUIRE,
  `redis.pcall('pexpire', lock, leaseMs)`,
  `redis.pcall('exists', lock)`,
);

export const NESTED_ENTRY_WITHOUT_TTL: Bug = script(
  ACQUIRE_NESTED,
  `if redis.call('pttl', lock) < tonumber(leaseMs) then redis.call('pexpire', lock, leaseMs) end`,
  '',
);

export const RENEWAL_CREATES: Bug = script(
  RENEW,
  'local answers = {}',
  `local answers = {}
for i = 1, #KEYS do redis.call('hset', KEYS[i], ARGV[i], 1) end`,
);

export const RENEWAL_OF_ANY_OWNER: Bug = script(
  RENEW,
  `redis.pcall('hexists', KEYS[i], ARGV[i])`,
  `redis.pcall('exists', KEYS[i])`,
);

export const RENEWAL_SHORTENS: Bug = script(
  RENEW,
  ` and redis.call('pttl', KEYS[i]) < tonumber(leaseMs)`,
  '',
);

const NEXT_TOKEN = 'math.max(counter + 1, tonumber(time[1]) * 1000000 + tonumber(time[2]))';

export const TOKEN_STAYS: Bug = scripts(
  [ACQUIRE.fenced, ACQUIRE_OR_QUEUE.fenced],
  NEXT_TOKEN,
  'math.max(counter, 1)',
);

export const TOKEN_WITHOUT_TIME: Bug = script(ACQUIRE.fenced, NEXT_TOKEN, 'counter + 1');

/** A lease that was renewed once is renewed for ever. */
export const RESTLESS_WATCHDOG: Bug = connection(
  class extends PassThrough {
    readonly #timers: NodeJS.Timeout[] = [];

    protected override around<R>(name: string, run: () => Promise<Reply<R>>) {
      const again = () => void run().catch(() => undefined);
      if (name === RENEW.name) this.#timers.push(setInterval(again, 50));
      return run();
    }

    override close() {
      for (const timer of this.#timers) clearInterval(timer);
      return super.close();
    }
  },
);

export const DEADLINE_FROM_THE_ANSWER: Bug = connection(
  class extends PassThrough {
    protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
      return { ...(await run()), sentAt: performance.now() };
    }
  },
);

/** A client that does not know of a resent script takes the second answer for the only one. */
export const CUTS_UNNOTICED: Bug = connection(
  class extends PassThrough {
    protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
      return { ...(await run()), resent: false };
    }
  },
);

export const NO_RETRY_AFTER_RECONNECT: Bug = connection(
  class extends PassThrough {
    override listen(channel: string, { message }: ChannelListener) {
      return super.listen(channel, { message, confirmed: () => undefined });
    }

    override onUp() {
      return () => undefined;
    }
  },
);

/** A waiter asks again only after a message. */
export const NO_POLL: Bug = member(WakeUps.prototype, 'pollAfter', {
  value: () => undefined,
});

/** Deadlines by a clock that people and time servers set. */
export function wallClock(clock: Clock): Bug {
  return {
    options: {
      clock: { ...clock, now: () => clock.wall() },
      decorate: (inner) =>
        new (class extends PassThrough {
          protected override async around<R>(_: string, run: () => Promise<Reply<R>>) {
            const sentAt = clock.wall();
            return { ...(await run()), sentAt };
          }
        })(inner),
    },
  };
}

export const LATE_GRANT_KEPT: Bug = member(Hold.prototype, 'cancel', {
  value: () => Promise.resolve(),
});

export const SIBLINGS_TAKE_NO_TURNS: Bug = member(HeldLease.prototype, 'waitForTurn', {
  value: () => Promise.resolve(true),
});

/** A caller keeps the leases that it got before one of several locks was refused. */
export const PARTIAL_MULTI_LOCK_KEPT: Bug = member(HeldMultiLease.prototype, 'release', {
  value: () => Promise.resolve(),
});

/** The end of a lease is noticed by timers alone. */
export const NO_LOOK_AT_THE_CLOCK: Bug = together(
  member(Hold.prototype, 'isOver', { value: () => false }),
  member(Hold.prototype, 'remainingMs', {
    get(this: Hold) {
      return this.isLive ? 1 : 0;
    },
  }),
);
