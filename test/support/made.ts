import { createHook } from 'node:async_hooks';

/**
 * How many promises and timers all code of this process makes during the work, Node's and ioredis' included.
 * While this counts, V8 makes one promise more for each `await`.
 */
export async function countMade(work: () => Promise<unknown>) {
  const made = { promises: 0, timers: 0 };
  const hook = createHook({
    init(_, type) {
      if (type === 'PROMISE') made.promises += 1;
      if (type === 'Timeout') made.timers += 1;
    },
  });
  hook.enable();
  try {
    await work();
  } finally {
    hook.disable();
  }
  return made;
}
