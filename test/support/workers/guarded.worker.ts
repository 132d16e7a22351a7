import type { Lease, LockSettings } from 'nestjs-redis-lock/core';
import { LeaseLostError } from '../../../libs/redis-lock/src/core/api/errors.js';

import { FencingGuard } from '../../../libs/redis-lock/src/primitives/fencing-guard/fencing-guard.js';
import { openApplication, type Application } from '../../faults/support/application.js';
import { serve } from '../worker.js';

let application: Application;
let guard: FencingGuard;
let lease: Lease;

const api = {
  open(url: string, settings: Partial<LockSettings>): void {
    application = openApplication(url, { settings });
    guard = new FencingGuard(application.context);
  },

  async acquire(name: string): Promise<void> {
    lease = await application.locks.acquire(name, { fenced: true });
  },

  /** Writes without a look at the lease, as if the process stood still right after the look. */
  async write(key: string, left: number): Promise<string> {
    try {
      await guard.write(lease.fencingToken, key, 'hset', 'left', left);
      return 'written';
    } catch (error) {
      return error instanceof LeaseLostError ? error.reason : String(error);
    }
  },

  /** The statement that this process sends to its database, and its values. */
  update(id: string, left: number): [text: string, values: (string | number)[]] {
    const { assignment, condition, value } = FencingGuard.sql('fence', lease.fencingToken, '?');
    const text = `UPDATE product SET left = ?, ${assignment} WHERE id = ? AND ${condition}`;
    return [text, [left, value, id, value]];
  },

  async close(): Promise<void> {
    await application.close();
  },
};
export type Api = typeof api;
serve(api);
