import { AsyncResource } from 'node:async_hooks';

import type { Reply } from '../core/redis/connection.js';
import { forMany, type Script, type ScriptText } from '../core/redis/script.js';
import type { Clock } from '../core/time/clock.js';
import type { AnswerWatch } from './answer-watch.js';
import { isCluster, type AnswerListener, type Client, type Evaluated } from './client.js';
import { CallOrder, cut, firstKeyOf, MOST_CALLS, type Batch, type Call } from './call-order.js';
import { hashSlot } from './hash-slot.js';
import {
  brokenError,
  isMovingSlot,
  isNoScript,
  isOfReplica,
  isRefusedUnrun,
  isReply,
  lockErrorOf,
} from './reply-error.js';

/** Slots of a Cluster often move one after the other. Each is assumed to take 10 s. */
const MOVING_MS = 10_000;
/** With this number of calls Redis may begin: a batch of acquisitions, and one of releases. */
const MOST_DUE = 2 * MOST_CALLS;

/** The connection that scripts are sent over. */
export interface CommandConnection {
  /** Whether a call that is sent again may end up in another database. */
  mayGoAstray(): boolean;
  /**
   * Resolves when scripts can be sent; undefined when they can be sent now.
   * @throws {LockBackendError} there is no connection
   */
  prepare(): Promise<void> | undefined;
  /** The server reported that it is a replica. */
  demoted(): void;
}

/**
 * Sends the calls of one turn of the event loop at its end. The calls of one script (in a Cluster,
 * of one hash tag) share one EVALSHA. A single call has the plain form.
 */
export class ScriptBatches implements AnswerListener<Batch> {
  readonly #order: CallOrder;
  /** How often it has sent calls. */
  sendCount = 0;
  /** The calls that are not sent yet. */
  #due: Batch | undefined;
  /** Whether they can travel together, in any number. */
  #isOneKind = false;
  #isPreparing = false;
  /** The digests that Redis has executed, and the number of breaks when they were sent. */
  readonly #executed = new Map<string, number>();
  /** The forms for many calls, by the digest of the plain one. */
  readonly #forms = new Map<string, ScriptText>();
  /**
   * The number of broken connections: calls on their way at such a time may have been sent twice.
   */
  #breaks = 0;
  /** By slot, the time until which it counts as moving. Its calls go one by one. */
  readonly #movingUntil = new Map<number, number>();

  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    private readonly watch: AnswerWatch | undefined,
    private readonly connection: CommandConnection,
  ) {
    this.#order = new CallOrder(isCluster(client));
  }

  /**
   * @throws {LockError} Redis did not answer or refused the command, or its answer cannot be read
   */
  run<R>(
    script: Script<string, string, R>,
    { lua, sha1 }: ScriptText,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply<R>> {
    return new Promise((resolve, reject) => {
      const call = {
        script,
        lua,
        sha1,
        keys,
        args,
        isUniform:
          script.readsByName &&
          keys.length === script.keys.length &&
          args.length === script.args.length,
        resolve,
        reject,
        sentAt: 0,
        breaks: 0,
        scope: undefined,
      };
      if (script.inOrder && this.#order.hasToWait(call)) this.#wait(call);
      else if (this.#enqueue(call) >= MOST_DUE) this.flush();
    });
  }

  /** A connection broke. A client may send again the calls without an answer. */
  onBreak(): void {
    this.#breaks++;
  }

  #enqueue(call: Call): number {
    const due = this.#due;
    if (due !== undefined) {
      this.#isOneKind &&= call.script === due[0].script && call.isUniform;
      return due.push(call);
    }
    this.#due = [call];
    this.#isOneKind = call.isUniform && !call.script.inOrder && !this.#order.isCluster;
    // By then, the promises that were settled in this turn have continued, and made calls as well.
    process.nextTick(this.flush);
    return 1;
  }

  /** A call without a connection fails at once. */
  #wait(call: Call): void {
    try {
      this.connection.prepare()?.catch(() => undefined);
    } catch (error) {
      call.reject(error);
      return;
    }
    // It is sent in the context of an answer. Tools that trace ioredis look for its caller's.
    call.scope = new AsyncResource('LockScript');
    this.#order.wait(call);
  }

  /**
   * Sends the calls that wait for the end of this turn of the event loop.
   * @param mustRun the next turn may come too late for a NOSCRIPT. So a script that the server may
   * not know goes by its text.
   */
  readonly flush = (mustRun = false): void => {
    const calls = this.#due;
    if (calls === undefined || this.#isPreparing) return;
    try {
      const preparation = this.connection.prepare();
      if (preparation !== undefined) {
        void this.#flushAfter(preparation);
        return;
      }
    } catch (error) {
      this.#failDue(error);
      return;
    }
    this.#due = undefined;
    this.sendCount += 1;
    const now = this.clock.now();
    for (const call of calls) {
      // A call that is sent again keeps these values: Redis may have executed it before.
      call.sentAt = now;
      call.breaks = this.#breaks;
    }
    if (calls.length > 1) {
      const batches = this.#isOneKind ? cut(calls) : this.#order.batchesOf(calls);
      for (const batch of batches) {
        this.#send(batch, !mustRun || batch.length > 1 || this.#isLoaded(batch[0].sha1));
      }
    } else {
      if (calls[0].script.inOrder) this.#order.lead(calls);
      this.#send(calls, !mustRun || this.#isLoaded(calls[0].sha1));
    }
  };

  #isLoaded(sha1: string): boolean {
    return this.#executed.get(sha1) === this.#breaks;
  }

  /** Calls that are made meanwhile are sent, or fail, with those that wait already. */
  async #flushAfter(preparation: Promise<void>): Promise<void> {
    this.#isPreparing = true;
    this.watch?.sent();
    try {
      await preparation;
    } catch (error) {
      this.#failDue(error);
    }
    this.#isPreparing = false;
    this.flush();
  }

  #failDue(error: unknown): void {
    const calls: readonly Call[] = this.#due ?? [];
    this.#due = undefined;
    for (const call of calls) call.reject(error);
    for (const call of this.#order.skip(calls)) this.#goOnWith(call);
  }

  /** By its digest; a server that has forgotten the script gets the text. */
  #send(batch: Batch, isKnown = true): void {
    const first = batch[0];
    const isSingle = batch.length === 1;
    if (!isSingle && this.isMoving(firstKeyOf(first))) {
      for (const one of this.#order.splitUp(batch)) this.#send(one);
      return;
    }
    const { lua, sha1 } = isSingle ? first : this.#formFor(first);
    this.watch?.sent();
    // A promise keeps the async context of the batch, in case Redis needs the text. Only the first
    // call may need it, whose answer may come after that of a later script.
    if (isKnown && this.client.evaluateFor && this.#isLoaded(sha1)) {
      this.client.evaluateFor(argsOf(sha1, batch), batch, this);
      return;
    }
    const reply = isKnown
      ? this.client.evaluate('evalsha', argsOf(sha1, batch))
      : this.client.evaluate('eval', argsOf(lua, batch));
    reply.then(
      (raw) => {
        // Each node of a Cluster has its own scripts.
        if (!this.#order.isCluster) this.#executed.set(sha1, first.breaks);
        this.answered(batch, raw);
      },
      (error: unknown) => {
        this.failed(batch, error, isKnown);
      },
    );
  }

  answered(batch: Batch, raw: unknown): void {
    if (batch.length === 1) this.#answer(batch[0], raw);
    else {
      const answers: readonly unknown[] = Array.isArray(raw) ? raw : [];
      batch.forEach((call, i) => {
        this.#answer(call, answers[i]);
      });
    }
    if (batch[0].script.inOrder) this.#goOn(batch);
  }

  failed(batch: Batch, error: unknown, isKnown = true): void {
    const first = batch[0];
    if (isMovingSlot(error))
      this.#movingUntil.set(hashSlot(firstKeyOf(first)), this.clock.now() + MOVING_MS);
    if (isKnown && isNoScript(error)) this.#send(batch, false);
    else if (batch.length > 1 && isRefusedUnrun(error)) {
      for (const one of this.#order.splitUp(batch)) this.#send(one);
    } else {
      for (const call of batch) this.#fail(call, error);
      this.#goOn(batch);
    }
  }

  #goOn(batch: Batch): void {
    for (const call of this.#order.end(batch)) this.#goOnWith(call);
  }

  #goOnWith(call: Call): void {
    const enqueue = () => this.#enqueue(call);
    if (call.scope === undefined) enqueue();
    else call.scope.runInAsyncScope(enqueue);
  }

  isMoving(key: string): boolean {
    if (this.#movingUntil.size === 0) return false;
    const slot = hashSlot(key);
    const isMoving = this.clock.now() < (this.#movingUntil.get(slot) ?? 0);
    if (!isMoving) this.#movingUntil.delete(slot);
    return isMoving;
  }

  #formFor(call: Call): ScriptText {
    let form = this.#forms.get(call.sha1);
    if (form === undefined) {
      form = forMany(call);
      this.#forms.set(call.sha1, form);
    }
    return form;
  }

  #answer(call: Call, raw: unknown): void {
    const { script, sentAt, breaks } = call;
    const resent = this.#breaks !== breaks;
    if (typeof raw === 'object' && isReply(raw)) {
      this.#fail(call, raw);
      return;
    }
    try {
      if (resent && this.connection.mayGoAstray()) throw brokenError();
      call.resolve({ value: script.decode(raw) as never, sentAt, resent });
    } catch (error) {
      call.reject(error);
    }
  }

  #fail(call: Call, error: unknown): void {
    if (isOfReplica(error)) this.connection.demoted();
    const resent = this.#breaks !== call.breaks;
    const isAstray = resent && this.connection.mayGoAstray();
    call.reject(isAstray ? brokenError() : lockErrorOf(error, resent));
  }
}

function argsOf(script: string, batch: Batch): Evaluated {
  const words: Evaluated = [script, batch.length * batch[0].keys.length];
  for (const { keys } of batch) words.push(...keys);
  for (const { args } of batch) words.push(...args);
  return words;
}
