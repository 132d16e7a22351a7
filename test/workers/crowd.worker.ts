import { Redis } from 'ioredis';

import { callersClient, openApplication, type Application } from '../faults/support/application.js';
import { Crowd, type Report, type Work } from '../faults/support/crowd.js';
import type { LockSettings } from '../../libs/redis-lock/src/core/options.js';
import { Random } from '../support/random.js';
import { serve } from '../support/worker.js';

export interface Opening {
  /** One application for each url, with a client of its own. */
  lockUrls: string[];
  refereeUrl: string;
  witnessUrl: string;
  settings?: Partial<LockSettings>;
}

interface Instance {
  application: Application;
  client: Redis;
}

let instances: Instance[] = [];
let crowds: Crowd[] = [];
let referee: Redis | undefined;
let witness: Redis | undefined;

const api = {
  async open({ lockUrls, refereeUrl, witnessUrl, settings = {} }: Opening): Promise<void> {
    referee = new Redis(refereeUrl);
    witness = new Redis(witnessUrl);
    instances = lockUrls.map((url) => {
      const client = callersClient(url);
      return { client, application: openApplication(client, { settings }) };
    });
    await Promise.all(
      instances.map(({ client }) => new Promise((resolve) => client.once('ready', resolve))),
    );
  },

  /** The same work for a crowd in every application. */
  async run(work: Work, seed: string): Promise<Report[]> {
    if (referee === undefined || witness === undefined) throw new Error('open comes first');
    const random = new Random(seed);
    const places = { referee, witness };
    crowds = instances.map(
      ({ application: { locks } }, i) => new Crowd({ locks, ...places }, work, random.fork(i)),
    );
    return Promise.all(crowds.map((crowd) => crowd.run()));
  },

  stop(): void {
    for (const crowd of crowds) crowd.stop();
  },

  async close(): Promise<void> {
    await Promise.all(instances.map(({ application }) => application.close()));
    for (const { client } of instances) client.disconnect();
    referee?.disconnect();
    witness?.disconnect();
  },
};
export type Api = typeof api;
serve(api);
