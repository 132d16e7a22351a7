import { LockBackendError } from '../../core/api/errors.js';
import type {
  ChannelListener,
  KeyPlace,
  RedisConnection,
  Reply,
} from '../../core/redis/connection.js';
import { replyErrorOf, wordsOf } from '../../core/redis/reply-error.js';
import type { Script, ScriptText } from '../../core/redis/script.js';
import { bytesOf, textOfBytes } from './bytes.js';
import { Status, type CommandReply } from './commands/command.js';
import type { RedisServer, Subscriber } from './redis-server.js';
import { CommandError } from './store.js';

const HERE: KeyPlace = { node: '', slot: 0 };
const never = () => new Promise<never>(() => undefined);

/** A client of a server in this process. It loses no request and no message. */
export class InProcessConnection implements RedisConnection {
  readonly topology = 'server';
  isUp = true;
  /** Its process has crashed: nothing more is sent, received or answered. */
  isGone = false;

  /** The error that a test wants instead of this script. */
  failure: (script: string) => Error | undefined = () => undefined;

  readonly #channels = new Map<string, Listeners>();

  #close: () => void = () => undefined;
  readonly closed = new Promise<void>((resolve) => {
    this.#close = resolve;
  });

  constructor(public server: RedisServer) {}

  open(): void {}

  async run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<Reply<R>> {
    const { isUp, isGone } = this;
    if (!isUp) {
      const over = { retryable: false, outcome: 'none' } as const;
      throw new LockBackendError('the connection is closed', over);
    }
    if (isGone) return never();
    const failure = this.failure(script.name);
    if (failure !== undefined) throw failure;
    const sentAt = this.server.clock.now();
    try {
      const reply = replyOf(this.server, script, keys, args);
      return { value: script.decode(reply), sentAt, resent: false };
    } finally {
      // Like any answer, it arrives later, if the process still lives.
      await Promise.resolve();
      if (this.isGone) await never();
    }
  }

  listen(channel: string, listener: ChannelListener): () => void {
    if (this.isGone) return () => undefined;
    const known = this.#channels.get(channel);
    const listeners = known ?? new Listeners();
    if (known === undefined) {
      this.#channels.set(channel, listeners);
      listeners.end = this.server.subscribe(bytesOf(channel), listeners, false);
    }
    return listeners.add(listener, () => {
      if (this.#channels.get(channel) === listeners) this.#channels.delete(channel);
    });
  }

  /** The connection is up from the beginning: the listener is never called. */
  onUp(): () => void {
    return () => undefined;
  }

  place(): KeyPlace {
    return HERE;
  }

  close(): Promise<void> {
    this.isUp = false;
    this.#end();
    this.#close();
    return this.closed;
  }

  crash(): void {
    this.isGone = true;
    this.#end();
  }

  #end(): void {
    for (const listeners of this.#channels.values()) listeners.endAll();
    this.#channels.clear();
  }
}

/**
 * The answer of a script as a client reads it.
 * @throws {LockError} the server refuses it
 */
export function replyOf(
  server: RedisServer,
  script: ScriptText,
  keys: readonly string[],
  args: readonly (string | number)[],
): unknown {
  const texts = args.map((arg) => bytesOf(String(arg)));
  try {
    return textsOf(server.evaluate(script, keys.map(bytesOf), texts));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw replyErrorOf(wordsOf(textOfBytes(error.message)));
  }
}

/** The listeners of a connection to one channel. */
class Listeners implements Subscriber {
  readonly #all = new Set<ChannelListener>();
  end: () => void = () => undefined;

  /** Calls the listeners after the present step. */
  message(_channel: string, message: string): void {
    const text = textOfBytes(message);
    for (const listener of this.#all) {
      this.#later(listener, () => {
        listener.message(text);
      });
    }
  }

  /** @returns a function that ends it, and the subscription with the last one */
  add(listener: ChannelListener, ended: () => void): () => void {
    this.#all.add(listener);
    this.#later(listener, () => {
      listener.confirmed();
    });
    return () => {
      this.#all.delete(listener);
      if (this.#all.size > 0) return;
      this.end();
      ended();
    };
  }

  /** Messages under way do not arrive. */
  endAll(): void {
    this.#all.clear();
    this.end();
  }

  #later(listener: ChannelListener, work: () => void): void {
    void Promise.resolve().then(() => {
      if (this.#all.has(listener)) work();
    });
  }
}

function textsOf(reply: CommandReply): unknown {
  if (typeof reply === 'string') return textOfBytes(reply);
  if (reply === null || typeof reply === 'number') return reply;
  if (reply instanceof CommandError) return reply;
  return reply instanceof Status ? reply.text : reply.map(textsOf);
}
