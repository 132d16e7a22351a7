import type { Reply } from '../core/redis/connection.js';
import type { ScriptCall } from '../core/redis/script.js';

/**
 * Calls in one EVALSHA. Of 64 callers on 64 keys, in acquisitions and releases a second: 8 made 127,000,
 * 16 148,000, 32 124,000, and 64 78,000, because then client and server take turns.
 */
export const MOST_CALLS = 16;

/** One call, and what becomes of it. */
export interface Job {
  readonly call: ScriptCall;
  answered(raw: unknown, sentAt: number, resent: boolean): void;
  failed(error: unknown): void;
}

/** Decodes the answer to a script. */
export interface Decoder<R> {
  decode(raw: unknown): R;
}

export class Asked<R> implements Job {
  constructor(
    readonly call: ScriptCall,
    private readonly script: Decoder<R>,
    private readonly resolve: (reply: Reply<R>) => void,
    private readonly reject: (error: unknown) => void,
  ) {}

  answered(raw: unknown, sentAt: number, resent: boolean): void {
    try {
      this.resolve({ value: this.script.decode(raw), sentAt, resent });
    } catch (error) {
      this.reject(error);
    }
  }

  failed(error: unknown): void {
    this.reject(error);
  }
}

/** Jobs that travel together. */
export interface Batch {
  /** Its place among those of the turn. */
  readonly place: number;
  readonly jobs: [Job, ...Job[]];
  isSent: boolean;
}

/**
 * What is asked for in one turn of the event loop. A new one for each: a Map that is emptied again and
 * again hands its garbage on to the old generation.
 */
export class Turn {
  /** In the order of their first calls. */
  readonly batches: [Batch, ...Batch[]];
  /** Made for the second call; most often there is none. */
  #rooms: Rooms | undefined;

  constructor(
    job: Job,
    private readonly group: string,
  ) {
    this.batches = [{ place: 0, jobs: [job], isSent: false }];
  }

  /**
   * Calls of one group travel together. Those that have the same first key keep their order: none
   * joins a batch that would overtake another one. Answers its batch.
   */
  add(job: Job, group: string): Batch {
    const [first] = this.batches;
    const { open, lastOf } = (this.#rooms ??= new Rooms(first, this.group));
    const { isUniform } = job.call;
    const key = firstKeyOf(job);
    const last = lastOf.get(key);
    let batch = isUniform ? open.get(group) : undefined;
    if (batch !== undefined && batch.place >= (last?.place ?? 0)) {
      batch.jobs.push(job);
    } else {
      batch = { place: this.batches.length, jobs: [job], isSent: false };
      this.batches.push(batch);
      if (isUniform) open.set(group, batch);
    }
    if (batch !== last) lastOf.set(key, batch);
    return batch;
  }

  /** Whether the next job like this one would join the batch. */
  wouldJoin(batch: Batch, job: Job, group: string): boolean {
    if (this.#rooms === undefined) return job.call.isUniform && group === this.group;
    const { open, lastOf } = this.#rooms;
    return open.get(group) === batch && lastOf.get(firstKeyOf(job)) === batch;
  }
}

class Rooms {
  /** The batches that have room for another call, by group. */
  readonly open = new Map<string, Batch>();
  /** By key, the last batch that has it as the first key of a call. */
  readonly lastOf = new Map<string, Batch>();

  constructor(first: Batch, group: string) {
    const [job] = first.jobs;
    if (job.call.isUniform) this.open.set(group, first);
    this.lastOf.set(firstKeyOf(job), first);
  }
}

export function firstKeyOf({ call }: Job): string {
  return call.keys[0] ?? '';
}
