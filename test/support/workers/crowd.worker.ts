import { Redis } from 'ioredis';
import type { LockEvent, LockSettings } from 'nestjs-redis-lock/core';

import {
  callersClient,
  openApplication,
  type Application,
} from '../../faults/support/application.js';
import { Crowd, type Report, type Work } from '../../faults/support/crowd.js';
import { Journal } from '../../faults/support/journal.js';
import * as handOffBugs from '../../faults/support/planted-hand-off.js';
import * as lockBugs from '../../faults/support/planted.js';
import { setBackClock } from '../../faults/support/set-back-clock.js';
import { Random } from '../random.js';
import { serve } from '../worker.js';

export interface Opening {
  /** One application for each url, with a client of its own. */
  lockUrls: string[];
  refereeUrl: string;
  witnessUrl: string;
  settings?: Partial<LockSettings>;
  /** The file in which it is written what the callers see; else it is in their reports. */
  journal?: string;
  /** The bug that is planted in the library of this process. */
  bug?: PlantedBug;
  /** Its wall clock is set back again and again. */
  isSetBack?: boolean;
}

const bugs = { ...lockBugs, ...handOffBugs };
export type PlantedBug = {
  [Name in keyof typeof bugs]: (typeof bugs)[Name] extends lockBugs.Bug ? Name : never;
}[keyof typeof bugs];

interface Instance {
  application: Application;
  client: Redis;
}

let instances: Instance[] = [];
let crowds: Crowd[] = [];
let running: Promise<Report>[] = [];
let referee: Redis | undefined;
let witness: Redis | undefined;
let journal: Journal | undefined;
let uninstall: (() => void) | undefined;

function onEvent(event: LockEvent): void {
  if (event.type === 'released' && event.outcome === 'unknown') {
    journal?.releasedUnknown(event.name);
  }
}

const api = {
  async open({ lockUrls, refereeUrl, witnessUrl, settings = {}, ...more }: Opening): Promise<void> {
    if (more.journal !== undefined) journal = new Journal(more.journal);
    const { options = {}, install }: lockBugs.Bug = more.bug === undefined ? {} : bugs[more.bug];
    uninstall = install?.();
    const clock = more.isSetBack === true ? { clock: setBackClock } : {};
    const all = { onEvent, ...clock, ...options, settings: { ...settings, ...options.settings } };
    referee = new Redis(refereeUrl);
    witness = new Redis(witnessUrl);
    instances = lockUrls.map((url) => {
      const client = callersClient(url);
      return { client, application: openApplication(client, all) };
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
      ({ application: { locks } }, i) =>
        new Crowd({ locks, ...places }, work, random.fork(i), journal),
    );
    running = crowds.map((crowd) => crowd.run());
    return Promise.all(running);
  },

  stop(): void {
    for (const crowd of crowds) crowd.stop();
  },

  /** Also in the middle of the work: then its callers get an error. */
  async close(): Promise<void> {
    api.stop();
    await Promise.all(instances.map(({ application }) => application.close()));
    await Promise.all(running);
    for (const { client } of instances) client.disconnect();
    referee?.disconnect();
    witness?.disconnect();
    journal?.close();
    journal = undefined;
    uninstall?.();
  },
};
export type Api = typeof api;
serve(api);
