import { afterAll, afterEach } from '@jest/globals';

import { Worker } from '../../support/child.js';
import type { Api } from '../../support/workers/crowd.worker.js';
import { CROWD, type Staff } from './fleet.js';

/**
 * Processes that the specs of a file use one after the other: to start one takes longer than a short
 * contest. They end by themselves after the last one.
 */
export function useCrew(): Staff {
  const all = new Set<Worker<Api>>();
  const idle: Worker<Api>[] = [];

  afterEach(async () => {
    // A spec that failed may have left them in the middle of their work.
    const busy = [...all].filter((worker) => !idle.includes(worker));
    for (const worker of busy) all.delete(worker);
    await Promise.all(busy.map((worker) => worker.kill()));
    const errors = [...all, ...busy].flatMap((worker) => worker.unhandled.splice(0));
    if (errors.length > 0) throw new AggregateError(errors, 'Unhandled rejections in workers');
  });
  afterAll(() => Promise.all([...all].map((worker) => worker.end())));

  return {
    async hire() {
      const known = idle.pop();
      if (known !== undefined) return known;
      const worker = new Worker<Api>(CROWD);
      all.add(worker);
      await worker.ready;
      return worker;
    },
    dismiss(worker) {
      idle.push(worker);
      return Promise.resolve();
    },
  };
}
