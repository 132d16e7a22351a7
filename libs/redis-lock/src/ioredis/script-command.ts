import { channel } from 'node:diagnostics_channel';
import type { Redis } from 'ioredis';

import type { AnswerListener, Word } from '../connection/client.js';
import type { Evaluating } from './ioredis-client.js';
import type { Package } from './packages.js';

const TRACES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((phase) =>
  channel(`tracing:ioredis:command:${phase}`),
);

/** On Node 20 ioredis cannot know, and traces each command without a listener. */
function isTracing(): boolean {
  for (const { hasSubscribers } of TRACES) if (hasSubscribers) return true;
  return false;
}

/** The package whose commands ours are like: the first that was used. */
let model: Package | undefined;

/**
 * Whether a client may send a `ScriptCommand` in place of its own. With a time limit a command may
 * be answered twice. A pipeline is collected before it is sent.
 */
export function sendsScriptCommands(client: Redis, from: Package): boolean {
  if (model === undefined) {
    model = from;
    // Ours can do what any command can. The constructor would make what is left out here.
    Object.setPrototypeOf(ScriptCommand.prototype, from.Command.prototype);
  }
  // A subclass or a tool may have an EVALSHA of its own; a pipeline has ioredis'.
  const { evalsha } = from.Pipeline.prototype as unknown as Evaluating;
  if (model !== from || client.evalsha !== evalsha) return false;
  const { commandTimeout, enableAutoPipelining } = client.options;
  return commandTimeout === undefined && enableAutoPipelining !== true;
}

/**
 * An EVALSHA with its final arguments, whose answer goes to a listener. ioredis' own command copies
 * and converts its arguments, and makes promises: a quarter of the client's work for a lock.
 */
export class ScriptCommand<Sent> implements PromiseLike<unknown> {
  readonly name = 'evalsha';
  inTransaction = false;
  isTraced = !isTracing();
  // For a tool that waits for `promise`.
  private settled: Promise<unknown> | undefined = undefined;
  private settle: (() => void) | undefined = undefined;
  private isOver = false;
  private answer: unknown = undefined;
  private error: Error | undefined = undefined;
  // Tools that trace ioredis replace these two, and call them without `this`.
  resolve: (raw: unknown) => void;
  reject: (error: Error) => void;

  constructor(
    readonly args: readonly Word[],
    sent: Sent,
    listener: AnswerListener<Sent>,
  ) {
    this.resolve = (raw) => {
      this.answer = textsIn(raw);
      this.end();
      listener.answered(sent, this.answer);
    };
    this.reject = (error) => {
      this.error = error;
      this.end();
      listener.failed(sent, error);
    };
  }

  /** ioredis returns it to its caller. A tool that waits for it gets a promise. */
  get promise(): PromiseLike<unknown> {
    return this;
  }

  /** @param isPlain each character is one byte, as nearly always */
  toWritable(socket?: unknown, isPlain = true): string {
    const { args } = this;
    let text = `*${String(args.length + 1)}\r\n$7\r\nevalsha\r\n`;
    // By index: an iterator makes an object for each argument.
    for (let i = 0; i < args.length; i += 1) {
      const word = String(args[i]);
      const size = isPlain ? word.length : Buffer.byteLength(word);
      text += `$${String(size)}\r\n${word}\r\n`;
    }
    const isRight = !isPlain || Buffer.byteLength(text) === text.length;
    return isRight ? text : this.toWritable(socket, false);
  }

  then<A, B>(
    onAnswer?: ((raw: unknown) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.settled ??= new Promise<void>((resolve) => {
      this.settle = resolve;
      if (this.isOver) resolve();
    }).then(() => {
      if (this.error !== undefined) throw this.error;
      return this.answer;
    });
    return this.settled.then<A, B>(onAnswer, onError);
  }

  private end(): void {
    this.isOver = true;
    this.settle?.();
  }
}

/** ioredis reads each text as bytes. */
function textsIn(raw: unknown): unknown {
  if (raw instanceof Buffer) return raw.toString();
  return Array.isArray(raw) ? raw.map(textsIn) : raw;
}
