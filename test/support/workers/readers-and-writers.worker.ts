import { Redis } from 'ioredis';

import type { LockSettings } from '../../../libs/redis-lock/src/core/api/settings.js';
import { ReadWriteLockService } from '../../../libs/redis-lock/src/primitives/read-write-lock/read-write-lock-service.js';
import {
  callersClient,
  openApplication,
  type Application,
} from '../../faults/support/application.js';
import {
  ReadersAndWriters,
  type ReadWriteReport,
  type ReadWriteWork,
} from '../../faults/support/readers-and-writers.js';
import { Random } from '../random.js';
import { serve } from '../worker.js';

let application: Application;
let client: Redis;
let referee: Redis;
let number: number;

const api = {
  async open(
    lockUrl: string,
    refereeUrl: string,
    process: number,
    settings: Partial<LockSettings> = {},
  ): Promise<void> {
    number = process;
    referee = new Redis(refereeUrl);
    client = callersClient(lockUrl);
    application = openApplication(client, { settings });
    await new Promise((resolve) => client.once('ready', resolve));
  },

  run(work: ReadWriteWork, seed: string): Promise<ReadWriteReport> {
    const locks = new ReadWriteLockService(application.context);
    const place = { locks, referee, process: number };
    return new ReadersAndWriters(place, work, new Random(seed)).run();
  },

  async close(): Promise<void> {
    await application.close();
    client.disconnect();
    referee.disconnect();
  },
};
export type Api = typeof api;
serve(api);
