import { hasMethods } from '../core/api/shapes.js';
import type { ChannelKind, Traffic } from '../connection/client.js';
import { ownClient, type MessageListener, type RedisClient, type Target } from './own-client.js';
import { named, readable } from './reply.js';

/** Is notified of what becomes of one connection. */
export interface ConnectionListener {
  /** The socket is open. */
  connected(): void;
  ready(): void;
  message: MessageListener;
  /** The server has removed a sharded channel. */
  astray(): void;
  /** The last call. The commands without an answer are rejected after it. */
  over(error: unknown): void;
}

const JOIN = { plain: 'subscribe', sharded: 'sSubscribe' } as const;
const LEAVE = { plain: 'unsubscribe', sharded: 'sUnsubscribe' } as const;

/**
 * One connection of node-redis, from its attempt to its end. node-redis never says what became of
 * the commands of a connection that it repairs. So it connects once, and is replaced.
 */
export class Connection {
  readonly #client: RedisClient;
  readonly #lifetime = new AbortController();
  readonly #write: (() => void) | undefined;
  #state: 'connecting' | 'arriving' | 'ready' | 'over' = 'connecting';
  #sent = 0;
  #answered = 0;
  /** Channels whose UNSUBSCRIBE has no answer yet. */
  readonly #leaving = new Set<string>();

  constructor(
    target: Target,
    private readonly listener: ConnectionListener,
  ) {
    this.#client = ownClient(target, this.#onOver, this.#lifetime.signal);
    this.#write = writerOf(this.#client);
    this.#client.on('error', this.#onOver);
    this.#client.on('connect', this.#onConnect);
    this.#client.on('sharded-channel-moved', this.#onAstray);
    watchRemovals(this.#client, (channel) => {
      if (this.#leaving.has(channel)) return false;
      this.#onAstray();
      return true;
    });
    this.#client.connect().then(this.#onReady, this.#onOver);
  }

  get traffic(): Traffic | undefined {
    // node-redis waits without a limit for the answers to its own first commands.
    const pending = this.#state === 'arriving' ? 1 : this.#sent - this.#answered;
    if (this.#state === 'connecting' || this.#state === 'over' || pending === 0) return undefined;
    return { connection: this, received: this.#answered, pending, first: undefined };
  }

  /** Writes at once. node-redis alone would write at the next turn of the event loop. */
  send(words: readonly string[]): Promise<unknown> {
    this.#sent += 1;
    const answer = this.#client.sendCommand(words).then(this.#onAnswer, this.#onRefusal);
    try {
      if (this.#state === 'ready') this.#write?.();
    } catch (error) {
      // A socket that the server has just ended.
      this.end(error);
    }
    return answer;
  }

  get writesLate(): boolean {
    return this.#write === undefined;
  }

  subscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    return this.#client[JOIN[kind]](channels, this.listener.message).catch(this.#refuse);
  }

  /** Without the listener, node-redis would take a channel that is on its way out for joined. */
  unsubscribe(kind: ChannelKind, channels: readonly string[]): Promise<unknown> {
    for (const channel of channels) this.#leaving.add(channel);
    const left = this.#client[LEAVE[kind]](channels, this.listener.message).catch(this.#refuse);
    return left.finally(() => {
      for (const channel of channels) this.#leaving.delete(channel);
    });
  }

  /** @param error undefined: on purpose */
  end(error?: unknown): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.listener.over(error);
    this.#destroy();
    this.#lifetime.abort();
  }

  readonly #onConnect = (): void => {
    if (this.#state === 'over') return;
    this.#state = 'arriving';
    this.listener.connected();
  };

  readonly #onAstray = (): void => {
    if (this.#state !== 'over') this.listener.astray();
  };

  readonly #onReady = (): void => {
    if (this.#state === 'over') return;
    this.#state = 'ready';
    this.listener.ready();
  };

  readonly #onOver = (error: unknown): void => {
    if (this.#state !== 'over') {
      this.#state = 'over';
      this.listener.over(named(error));
    }
    // Also after an attempt that failed: OpenTelemetry would keep this client.
    this.#destroy();
  };

  #destroy(): void {
    // Version 5 throws if it has ended by itself.
    if (this.#client.isOpen) this.#client.destroy();
  }

  readonly #onAnswer = (raw: unknown): unknown => {
    this.#answered += 1;
    return readable(raw);
  };

  readonly #onRefusal = (error: unknown): never => {
    this.#answered += 1;
    return this.#refuse(error);
  };

  /** A connection that is not over rejects only what Redis has refused. */
  readonly #refuse = (error: unknown): never => {
    throw named(error, this.#state === 'ready');
  };
}

interface Parts {
  _ejectSocket(): { write(commands: Iterable<unknown>): void };
  _insertSocket(socket: object): void;
  _getQueue(): {
    commandsToWrite(): Iterable<unknown>;
    readonly decoder?: { onPush(push: readonly unknown[]): void };
  };
}

/**
 * Writes what a client has to send. Its parts are reached by methods that node-redis calls
 * internal: a later version may lack them.
 */
function writerOf(client: RedisClient): (() => void) | undefined {
  if (!hasMethods(client, '_ejectSocket', '_insertSocket', '_getQueue')) return undefined;
  const parts = client as unknown as Parts;
  const socket = parts._ejectSocket();
  parts._insertSocket(socket);
  return () => {
    socket.write(parts._getQueue().commandsToWrite());
  };
}

/**
 * Watches for sharded channels that the server removes. While a command waits for its answer,
 * node-redis takes a removal for an answer, without a word. With RESP2 it stays so.
 * @param isAstray whether the locks have not requested it, for a channel
 */
function watchRemovals(client: RedisClient, isAstray: (channel: string) => boolean): void {
  if (!hasMethods(client, '_getQueue')) return;
  const { decoder } = (client as unknown as Parts)._getQueue();
  if (decoder === undefined || !hasMethods(decoder, 'onPush')) return;
  const onPush = decoder.onPush.bind(decoder);
  decoder.onPush = (push) => {
    const [kind, channel] = push;
    if (String(kind) === 'sunsubscribe' && isAstray(String(channel))) return;
    onPush(push);
  };
}
