import { existsSync } from 'node:fs';

import { Redis } from 'ioredis';
import type { AcquireOptions, Lease, LockSettings } from 'nestjs-redis-lock/core';
import { LeaseLostError } from '../../../libs/redis-lock/src/core/api/errors.js';

import { openApplication, type Application } from '../../faults/support/application.js';
import { FencedResource } from '../../faults/support/fenced-resource.js';
import { report, serve } from '../worker.js';

const ME = 'worker';

let application: Application;
let resources: Redis;
let resource: FencedResource;
let lease: Lease;

/** The outcome of `assertHeld()`: `held`, or the reason why not. */
function held(): string {
  try {
    lease.assertHeld();
    return 'held';
  } catch (error) {
    return error instanceof LeaseLostError ? error.reason : String(error);
  }
}

const api = {
  open(lockUrl: string, resourceUrl: string, settings: Partial<LockSettings>): void {
    application = openApplication(lockUrl, { settings });
    resources = new Redis(resourceUrl);
  },

  async acquire(name: string, options: AcquireOptions): Promise<number | undefined> {
    resource = new FencedResource(resources, name);
    lease = await application.locks.acquire(name, options);
    return lease.fencingToken;
  },

  /** Every caller should write like this. */
  async write(): Promise<string> {
    const verdict = held();
    return verdict === 'held' ? resource.write(lease.fencingToken, ME) : verdict;
  },

  /** A caller should never write like this. */
  writeWithoutLooking: () => resource.write(lease.fencingToken, ME),

  isAborted: () => lease.signal.aborted,

  /** Resolves when the signal aborts by itself, with the error's code. */
  aborted: () =>
    new Promise<string>((resolve) => {
      const { signal } = lease;
      signal.addEventListener('abort', () => {
        resolve((signal.reason as LeaseLostError).code);
      });
    }),

  state: () => lease.state,

  /** For how long its error says that the process stood still. */
  stoodStillMs: () => (lease.signal.reason as LeaseLostError).stoodStillMs,

  /** Blocks the event loop until the file is there, and looks in the same turn of the loop. */
  blockUntil(file: string): string {
    while (!existsSync(file));
    return held();
  },

  async release(): Promise<string> {
    try {
      await lease.release();
      return 'released';
    } catch (error) {
      return (error as LeaseLostError).code;
    }
  },

  /** Waits for the lock; no caller waits for the answer. */
  queueUp(name: string): void {
    void application.locks.acquire(name, { waitTimeMs: Infinity }).then(() => {
      report('inside');
    });
  },

  async close(): Promise<void> {
    await application.close();
    resources.disconnect();
  },
};
export type Api = typeof api;
serve(api);
