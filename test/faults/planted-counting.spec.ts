import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';

import { LockContext } from '../../libs/redis-lock/src/core/lock-context.js';
import { OnceOnly } from '../../libs/redis-lock/src/primitives/lua/once-only.js';
import { openConnection } from '../support/open-connection.js';
import {
  COUNT_DOWN,
  TRY_SET_COUNT,
} from '../../libs/redis-lock/src/primitives/count-down-latch/latch.scripts.js';
import { LatchService } from '../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import {
  ACQUIRE,
  CANCEL,
  CHANGE,
} from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore.scripts.js';
import { CountingSemaphores } from '../../libs/redis-lock/src/primitives/counting-semaphore/counting-semaphore-service.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { PassThrough } from '../support/pass-through.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { callersClient } from './support/application.js';

interface Patch {
  script: { name: string; lua: string };
  text: string;
  by: string;
}

/** Runs another text instead of one script; what it replaces must be there. */
class Patched extends PassThrough {
  constructor(
    url: ConstructorParameters<typeof PassThrough>[0],
    private readonly bug: Patch | undefined,
  ) {
    super(url);
  }

  protected override patch<S extends { name: string; lua: string; sha1: string }>(script: S): S {
    if (this.bug?.script.name !== script.name) return script;
    const { text, by } = this.bug;
    if (!script.lua.includes(text)) throw new Error(`${script.name} has no ${text}`);
    const lua = script.lua.replace(text, () => by);
    return { ...script, lua, sha1: createHash('sha1').update(lua).digest('hex') };
  }
}

const DEAF = { text: 'if known then return', by: 'if false then return' };

/** Workloads that the library passes, each with a bug that makes it fail. */
describe('bugs that are planted into what counts', () => {
  const redis = useRealRedis();

  /** Two clients, of which the one loses the first answer to every script. */
  const inLab = async (
    bug: Patch | undefined,
    workload: (lossy: LockContext, proxy: FaultProxy) => Promise<void>,
  ) => {
    await redis.admin.flushall();
    const proxy = await FaultProxy.start({ port: redis.port });
    const client = callersClient(proxy.url);
    const context = new LockContext(new Patched(openConnection(client), bug));
    try {
      await new Promise((resolve) => client.once('ready', resolve));
      await workload(context, proxy);
    } finally {
      await proxy.heal();
      await context.close();
      client.disconnect();
      await proxy.close();
    }
  };
  /** The answer to the next script is lost, and its connection cut. */
  const losing = async (proxy: FaultProxy, work: () => Promise<unknown>) => {
    const fault = proxy.loseReply({ containing: 'evalsha', times: 1 });
    const answer = await work();
    if (fault.hits !== 1) throw new Error('No answer was lost');
    return answer;
  };
  const expectIn = async (key: string, value: string | null) => {
    const look = async () => expect(await redis.admin.get(key)).toBe(value);
    await eventually(look, { withinMs: 1_000 });
  };

  const countsDownOnce = (bug?: Patch) =>
    inLab(bug, async (context, proxy) => {
      const latch = new LatchService(context).get('a');
      await redis.admin.set('a', 5);
      await latch.countDown();
      await losing(proxy, () => latch.countDown());
      await expectIn('a', '3');
    });

  const setsOnce = (bug?: Patch) =>
    inLab(bug, async (context, proxy) => {
      const latches = new LatchService(context);
      await latches.get('warm').trySetCount(1);
      const isSet = await losing(proxy, () => latches.get('a').trySetCount(5));
      expect(isSet).toBe(true);
    });

  const releasesOnce = (bug?: Patch) =>
    inLab(bug, async (context, proxy) => {
      const semaphore = new CountingSemaphores(context).get('a');
      await semaphore.release();
      await losing(proxy, () => semaphore.release());
      await expectIn('a', '2');
    });

  const acquiresOnce = (bug?: Patch) =>
    inLab(bug, async (context, proxy) => {
      const semaphore = new CountingSemaphores(context).get('a');
      await semaphore.release(5);
      await semaphore.acquire();
      await losing(proxy, () => semaphore.acquire());
      await expectIn('a', '3');
    });

  const takesBack = (bug?: Patch) =>
    inLab(bug, async (context, proxy) => {
      const semaphore = new CountingSemaphores(context).get('a');
      await semaphore.release(5);
      await semaphore.acquire();
      const answers = proxy.hold('toClient');
      const late = semaphore.acquire(2, { waitTimeMs: 30 });
      await expect(late).rejects.toMatchObject({ code: 'LOCK_BACKEND' });
      answers.heal();
      await expectIn('a', '4');
    });

  const plans: [name: string, workload: (bug?: Patch) => Promise<void>, bug: Patch][] = [
    ['a count-down that is sent again', countsDownOnce, { script: COUNT_DOWN, ...DEAF }],
    ['a latch that was set already', setsOnce, { script: TRY_SET_COUNT, ...DEAF }],
    ['a release that is sent again', releasesOnce, { script: CHANGE, ...DEAF }],
    ['an acquisition that is sent again', acquiresOnce, { script: ACQUIRE, ...DEAF }],
    [
      'permits whose caller has gone',
      takesBack,
      { script: CANCEL, text: `if not known or not free then`, by: 'if true then' },
    ],
  ];

  it.each(plans)('none, with %s', async (_, workload) => {
    await workload();
  });

  it.each(plans)('are found: %s', async (_, workload, bug) => {
    await expect(workload(bug)).rejects.toThrow(/Not within|Expected/);
  });

  it('are found: a caller from which nothing is taken back', async () => {
    const original = Object.getOwnPropertyDescriptor(OnceOnly.prototype, 'undo') ?? {};
    Object.defineProperty(OnceOnly.prototype, 'undo', {
      ...original,
      value: async () => undefined,
    });
    try {
      await expect(takesBack()).rejects.toThrow(/Not within|Expected/);
    } finally {
      Object.defineProperty(OnceOnly.prototype, 'undo', original);
    }
  });
});
