import type { Cluster, Redis } from 'ioredis';

import { MOVING_MS, type Reply } from '../core/redis/connection.js';
import { forMany, type ScriptCall, type ScriptText } from '../core/redis/script.js';
import { hashTag } from './hash-slot.js';
import { isCluster } from './redis-client.js';
import {
  brokenError,
  isMovingSlot,
  isNoScript,
  isOfReplica,
  isRefusedUnrun,
  isReply,
  lockErrorOf,
} from './reply-error.js';
import { Asked, firstKeyOf, MOST_CALLS, Turn, type Batch, type Decoder, type Job } from './turn.js';

/** The connection by which scripts travel. */
export interface Line {
  /** Whether what is sent again may end up in another database. */
  mayGoAstray(): boolean;
  /**
   * What there is to wait for before scripts can be sent.
   * @throws {LockBackendError} there is no connection
   */
  prepare(): Promise<void> | undefined;
  /** The server says that it is a replica. */
  demoted(): void;
}

/** When something was sent first, and how many connections had broken until then. */
interface Sending {
  readonly sentAt: number;
  readonly breaks: number;
}

/**
 * Sends what is asked for in one turn of the event loop at its end: the calls of one script, in a
 * Cluster of one slot, as one EVALSHA, and a call that is alone in the plain form. Calls whose first key
 * is the same keep their order; of scripts that are `inOrder` also where one has to be sent again: what
 * cannot travel with the one before waits for its answer.
 */
export class ScriptBatches {
  /** The forms for many calls, by the digest of the plain one. */
  readonly #forms = new Map<string, ScriptText>();
  #turn: Turn | undefined;
  /** For scripts that keep their order, by first key: the batch on its way and the jobs behind it. */
  readonly #ahead = new Map<string, Batch>();
  readonly #behind = new Map<string, Job[]>();
  /** Counts the connections that broke: what was on its way then may have been sent twice. */
  #breaks = 0;
  /** Until then the calls of a slot go one by one, by hash tag. */
  readonly #movingUntil = new Map<string, number>();

  readonly #isCluster: boolean;

  constructor(
    private readonly client: Redis | Cluster,
    private readonly line: Line,
  ) {
    this.#isCluster = isCluster(client);
  }

  /** @throws {LockError} Redis could not be asked, or refused; or the answer makes no sense */
  run<R>(call: ScriptCall, script: Decoder<R>): Promise<Reply<R>> {
    return new Promise((resolve, reject) => {
      this.#add(new Asked(call, script, resolve, reject));
    });
  }

  /** A connection broke. ioredis sends again what it owes an answer to. */
  onBreak(): void {
    this.#breaks++;
  }

  #add(job: Job): void {
    const { call } = job;
    const isSlotted = this.#isCluster && call.isUniform;
    const group = isSlotted ? `${call.sha1} ${hashTag(call.keys[0] ?? '')}` : call.sha1;
    if (call.inOrder && this.#hasToWait(job, group)) {
      this.#wait(job);
      return;
    }
    let batch: Batch;
    if (this.#turn === undefined) {
      this.#turn = new Turn(job, group);
      [batch] = this.#turn.batches;
      // Until then the promises that were settled in this turn have gone on, and asked as well.
      process.nextTick(this.#flush);
    } else {
      batch = this.#turn.add(job, group);
    }
    if (call.inOrder) this.#ahead.set(firstKeyOf(job), batch);
    // Redis may begin, and what comes next in this turn is another batch.
    if (batch.jobs.length === MOST_CALLS) this.#flush();
  }

  #hasToWait(job: Job, group: string): boolean {
    const key = firstKeyOf(job);
    const ahead = this.#ahead.get(key);
    if (ahead === undefined) return false;
    const mayJoin = !ahead.isSent && !this.#behind.has(key);
    return !mayJoin || this.#turn?.wouldJoin(ahead, job, group) !== true;
  }

  /** A job without a connection fails at once. */
  #wait(job: Job): void {
    try {
      this.line.prepare()?.catch(() => undefined);
    } catch (error) {
      job.failed(error);
      return;
    }
    const key = firstKeyOf(job);
    const behind = this.#behind.get(key);
    if (behind === undefined) this.#behind.set(key, [job]);
    else behind.push(job);
  }

  /** All of it is answered: what waited for that goes on, before all that is asked for from now on. */
  #end(batch: Batch): void {
    for (const job of batch.jobs) {
      if (!job.call.inOrder) continue;
      const key = firstKeyOf(job);
      if (this.#ahead.get(key) !== batch) continue;
      this.#ahead.delete(key);
      this.#goOn(key);
    }
  }

  /** Sends the next jobs of the key. Only as many as fit: thousands may wait behind them. */
  #goOn(key: string): void {
    let behind = this.#behind.get(key);
    // Without a connection the batch fails at once, and nothing is ahead of the next one.
    while (behind !== undefined && !this.#ahead.has(key)) {
      this.#behind.delete(key);
      for (const next of behind.splice(0, MOST_CALLS)) this.#add(next);
      behind = this.#behind.get(key)?.concat(behind) ?? behind;
      if (behind.length === 0) return;
      this.#behind.set(key, behind);
    }
  }

  readonly #flush = (): void => {
    if (this.#turn === undefined) return;
    const due = this.#turn.batches;
    this.#turn = undefined;
    for (const batch of due) batch.isSent = true;
    const fail = (error: unknown) => {
      for (const { jobs } of due) for (const job of jobs) job.failed(error);
      for (const batch of due) this.#end(batch);
    };
    try {
      const preparation = this.line.prepare();
      if (preparation === undefined) this.#sendAll(due);
      else
        preparation.then(() => {
          this.#sendAll(due);
        }, fail);
    } catch (error) {
      fail(error);
    }
  };

  #sendAll(due: readonly Batch[]): void {
    const sending = { sentAt: performance.now(), breaks: this.#breaks };
    for (const batch of due) {
      if (batch.jobs.length === 1) this.#sendOne(batch, sending);
      else if (this.#isMoving(batch, sending)) this.#sendEach(batch, sending);
      else this.#sendTogether(batch, sending);
    }
  }

  /** In order, those of one key go one behind the other, before what waits for them already. */
  #sendEach({ place, jobs }: Batch, sending: Sending): void {
    const later = new Map<string, Job[]>();
    for (const job of jobs) {
      const key = firstKeyOf(job);
      const others = later.get(key);
      if (job.call.inOrder && others !== undefined) {
        others.push(job);
        continue;
      }
      const one: Batch = { place, jobs: [job], isSent: true };
      later.set(key, []);
      if (job.call.inOrder) this.#ahead.set(key, one);
      this.#sendOne(one, sending);
    }
    for (const [key, others] of later) {
      if (others.length > 0) this.#behind.set(key, others.concat(this.#behind.get(key) ?? []));
    }
  }

  #sendOne(batch: Batch, sending: Sending): void {
    const [job] = batch.jobs;
    this.#evaluate(
      job.call,
      job.call,
      (raw) => {
        this.#answer(job, raw, sending);
        this.#end(batch);
      },
      (error) => {
        this.#noteMoving(batch, error);
        this.#fail(job, error, sending);
        this.#end(batch);
      },
    );
  }

  #sendTogether(batch: Batch, sending: Sending): void {
    const { jobs } = batch;
    const [{ call: first }] = jobs;
    const keys: string[] = [];
    const args: (string | number)[] = [];
    for (const { call } of jobs) {
      for (const key of call.keys) keys.push(key);
      for (const arg of call.args) args.push(arg);
    }
    this.#evaluate(
      this.#formFor(first),
      { keys, args },
      (raw) => {
        const answers: readonly unknown[] = Array.isArray(raw) ? raw : [];
        jobs.forEach((job, i) => {
          this.#answer(job, answers[i], sending);
        });
        this.#end(batch);
      },
      (error) => {
        this.#noteMoving(batch, error);
        if (isRefusedUnrun(error)) {
          this.#sendEach(batch, sending);
          return;
        }
        for (const job of jobs) this.#fail(job, error, sending);
        this.#end(batch);
      },
    );
  }

  #noteMoving(batch: Batch, error: unknown): void {
    if (isMovingSlot(error)) this.#movingUntil.set(tagOf(batch), performance.now() + MOVING_MS);
  }

  #isMoving(batch: Batch, { sentAt }: Sending): boolean {
    if (this.#movingUntil.size === 0) return false;
    const tag = tagOf(batch);
    const isMoving = sentAt < (this.#movingUntil.get(tag) ?? 0);
    if (!isMoving) this.#movingUntil.delete(tag);
    return isMoving;
  }

  #formFor(call: ScriptCall): ScriptText {
    let form = this.#forms.get(call.sha1);
    if (form === undefined) {
      form = forMany(call);
      this.#forms.set(call.sha1, form);
    }
    return form;
  }

  /** EVALSHA; a server that has forgotten the script gets it with EVAL, which cannot be refused so. */
  #evaluate(
    { sha1, lua }: ScriptText,
    { keys, args }: Pick<ScriptCall, 'keys' | 'args'>,
    answered: (raw: unknown) => void,
    failed: (error: unknown) => void,
  ): void {
    this.client.evalsha(sha1, keys.length, ...keys, ...args).then(answered, (error: unknown) => {
      if (!isNoScript(error)) failed(error);
      else this.client.eval(lua, keys.length, ...keys, ...args).then(answered, failed);
    });
  }

  #answer(job: Job, raw: unknown, sending: Sending): void {
    if (isReply(raw)) this.#fail(job, raw, sending);
    else if (this.#isAstray(sending)) job.failed(brokenError());
    else job.answered(raw, sending.sentAt, this.#wasResent(sending));
  }

  #fail(job: Job, error: unknown, sending: Sending): void {
    if (isOfReplica(error)) this.line.demoted();
    const isAstray = this.#isAstray(sending);
    job.failed(isAstray ? brokenError() : lockErrorOf(error, this.#wasResent(sending)));
  }

  #wasResent({ breaks }: Sending): boolean {
    return this.#breaks !== breaks;
  }

  #isAstray(sending: Sending): boolean {
    return this.line.mayGoAstray() && this.#wasResent(sending);
  }
}

/** Its calls are of one slot, in a Cluster. */
function tagOf({ jobs: [first] }: Batch): string {
  return hashTag(firstKeyOf(first));
}
