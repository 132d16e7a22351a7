import { Redis } from 'ioredis';
import { LockBackendError } from '../../../libs/redis-lock/src/core/api/errors.js';

import type { CountDownLatch } from '../../../libs/redis-lock/src/primitives/count-down-latch/latch.js';
import { LatchService } from '../../../libs/redis-lock/src/primitives/count-down-latch/latch-service.js';
import {
  callersClient,
  openApplication,
  type Application,
} from '../../faults/support/application.js';
import { serve } from '../worker.js';

const WAIT_MS = 20_000;

export interface Rounds {
  /** The rounds that go on at the same time, and how many one after the other. */
  lanes: number;
  rounds: number;
  /** How many processes take part, each with one count-down. */
  processes: number;
}

let application: Application;
let client: Redis;
let referee: Redis;
let latches: LatchService;

/** Until Redis has answered; for what may be asked again without harm. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof LockBackendError)) throw error;
    }
  }
}

/** All processes meet at one latch. Answers what must never be, in words. */
async function meet(latch: CountDownLatch, processes: number): Promise<string[]> {
  await untilAnswered(() => latch.trySetCount(processes));
  await referee.incr(`came:${latch.name}`);
  await latch.countDown().catch((error: unknown) => {
    // Redis counts down all the same.
    if (!(error instanceof LockBackendError)) throw error;
  });
  const isOpen = await untilAnswered(() => latch.wait({ waitTimeMs: WAIT_MS }));
  if (!isOpen) return [`${latch.name} did not open`];
  const came = Number(await referee.get(`came:${latch.name}`));
  return came === processes ? [] : [`${latch.name} opened for ${String(came)}`];
}

const api = {
  async open(lockUrl: string, refereeUrl: string): Promise<void> {
    client = callersClient(lockUrl);
    referee = new Redis(refereeUrl);
    application = openApplication(client);
    latches = new LatchService(application.context);
    await new Promise((resolve) => client.once('ready', resolve));
  },

  async run({ lanes, rounds, processes }: Rounds): Promise<string[]> {
    const violations: string[] = [];
    const lane = async (number: number) => {
      for (let round = 0; round < rounds; round += 1) {
        const latch = latches.get(`latch_${String(number)}_${String(round)}`);
        violations.push(...(await meet(latch, processes)));
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
    return violations;
  },

  async close(): Promise<void> {
    await application.close();
    client.disconnect();
    referee.disconnect();
  },
};
export type Api = typeof api;
serve(api);
