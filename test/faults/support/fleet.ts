import { join } from 'node:path';

import type { Worker, WorkerHerd } from '../../support/child.js';
import type { Random } from '../../support/random.js';
import type { Api, Opening } from '../../support/workers/crowd.worker.js';
import type { Work } from './crowd.js';
import { nowUs } from './history.js';
import { pause } from './pace.js';

export const CROWD = new URL('../../support/workers/crowd.worker.ts', import.meta.url);

/** A process was killed, or stood still, at this time. */
export type ProcessFate =
  | { kind: 'killed'; process: number; atUs: number }
  | { kind: 'stood-still'; process: number; atUs: number; untilUs: number };

/** Where processes come from, and where they go when their applications are closed. */
export interface Staff {
  hire(): Promise<Worker<Api>>;
  dismiss(worker: Worker<Api>): Promise<void>;
}

/** New ones each time, which have to end by themselves. */
export function newStaff(workers: WorkerHerd): Staff {
  return {
    hire: () => workers.start<Api>(CROWD),
    dismiss: async (worker) => {
      await worker.end();
    },
  };
}

export interface FleetPlan {
  readonly staff: Staff;
  /** Where each process keeps its journal. */
  readonly folder: string;
  /** The work of each process of the fleet; a new process follows its predecessor. */
  readonly posts: readonly { readonly opening: Opening; readonly work: Work }[];
  readonly random: Random;
  readonly note: (fate: ProcessFate) => void;
}

type Post = FleetPlan['posts'][number];

interface Member {
  readonly process: number;
  readonly post: Post;
  readonly worker: Worker<Api>;
  readonly running: Promise<unknown>;
  standsStill: boolean;
}

/** Processes whose callers work until the end, and are replaced when something happens to them. */
export class Fleet {
  readonly journals: string[] = [];
  /** Those at work. */
  readonly #members: Member[] = [];

  constructor(private readonly plan: FleetPlan) {}

  async start(): Promise<void> {
    await Promise.all(this.plan.posts.map((post) => this.#man(post)));
  }

  /** Kills the process with all its callers, in the middle of whatever they do. */
  async kill(victim: number): Promise<void> {
    const member = this.#dismiss(victim, () => true);
    if (member === undefined) return;
    // Expected to end in the middle of it.
    member.running.catch(() => undefined);
    this.plan.note({ kind: 'killed', process: member.process, atUs: nowUs() });
    await member.worker.kill();
    await this.#man(member.post);
  }

  /** The applications of one process close while its callers work, and the process has to end. */
  async retire(victim: number): Promise<void> {
    const member = this.#dismiss(victim, ({ standsStill }) => !standsStill);
    if (member === undefined) return;
    await this.#end(member);
    await this.#man(member.post);
  }

  async standStill(victim: number, ms: number): Promise<void> {
    const member = this.#pick(victim, ({ standsStill }) => !standsStill);
    if (member === undefined) return;
    member.standsStill = true;
    const atUs = nowUs();
    member.worker.pause();
    await pause(ms);
    member.worker.resume();
    member.standsStill = false;
    const { process } = member;
    this.plan.note({ kind: 'stood-still', process, atUs, untilUs: nowUs() });
  }

  /** All callers finish what they do. */
  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ worker }) => worker.call.stop()));
    await Promise.all(this.#members.map(({ running }) => running));
  }

  /** Every process closes its applications, and must end by itself then. */
  async end(): Promise<void> {
    await Promise.all(this.#members.splice(0).map((member) => this.#end(member)));
  }

  async #man(post: Post): Promise<void> {
    const { staff, folder, random } = this.plan;
    const process = this.journals.length;
    const journal = join(folder, `${String(process)}.jsonl`);
    this.journals.push(journal);
    const worker = await staff.hire();
    await worker.call.open({ ...post.opening, journal });
    const running = worker.call.run(post.work, String(random.fork(process).next()));
    // Should the worker break down, awaiting `running` reports it.
    running.catch(() => undefined);
    this.#members.push({ process, post, worker, running, standsStill: false });
  }

  async #end({ worker, running }: Member): Promise<void> {
    await worker.call.close();
    await running;
    await this.plan.staff.dismiss(worker);
  }

  #pick(victim: number, isMeant: (member: Member) => boolean): Member | undefined {
    const members = this.#members.filter(isMeant);
    return members[Math.floor(victim * members.length)];
  }

  /** The last process stays: one has to go on. */
  #dismiss(victim: number, isMeant: (member: Member) => boolean): Member | undefined {
    const member = this.#members.length > 1 ? this.#pick(victim, isMeant) : undefined;
    if (member !== undefined) this.#members.splice(this.#members.indexOf(member), 1);
    return member;
  }
}
