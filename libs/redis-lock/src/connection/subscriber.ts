import { outOfScope, type Clock, type Timer } from '../core/time/clock.js';
import { ANSWER_MS, type ChannelListener } from '../core/redis/connection.js';
import { reconnectDelayMs, type ChannelKind, type NodeClient } from './client.js';
import { isReply } from './reply-error.js';

/** No client notices a half-open connection that only listens: this finds it within 1.5 s. */
const HEARTBEAT_MS = 500;
/** Clients wait without a limit for a server that accepts a connection and never answers. */
const CONNECT_MS = 3_000;

/** Channels without listeners are unsubscribed together, 20 ms after the first. */
const LEAVE_MS = 20;
/** After this number of heartbeats without a channel, the connection is closed. */
const IDLE_BEATS = 120;

/**
 * The connection for messages. It is open while there are listeners, and a minute longer. A broken
 * or silent connection is replaced, not repaired: each new one subscribes anew and confirms its
 * channels.
 */
export class Subscriber {
  /** How its publishers publish. */
  readonly mode = 'plain';
  readonly #listeners = new Map<string, Set<ChannelListener>>();
  /** Channels that wait for Redis to confirm them. */
  readonly #unconfirmed = new Set<string>();
  /** Channels that were requested in this turn of the event loop. */
  readonly #joining: string[] = [];
  /** Channels without listeners to which Redis still has a subscription. */
  readonly #leaving = new Set<string>();
  #leave: Timer | undefined;
  /** Channels whose refusal was reported already. */
  readonly #refused = new Set<string>();
  #client: NodeClient | undefined;
  #heartbeat: Timer | undefined;
  #reconnect: Timer | undefined;
  #failures = 0;
  #idleBeats = 0;
  #isClosed = false;
  readonly #kind: ChannelKind;

  constructor(
    /** Opens a new client each time, to the server that is right at that time. */
    private readonly open: () => NodeClient,
    private readonly onTrouble: (error: unknown) => void,
    private readonly clock: Clock,
    /**
     * If given, channels are sharded; it is called when this node may no longer be the right one.
     */
    private readonly onAstray?: () => void,
  ) {
    this.#kind = onAstray === undefined ? 'plain' : 'sharded';
  }

  /** Whether Redis has confirmed every channel with a listener. */
  get isHearing(): boolean {
    if (this.#listeners.size === 0) return true;
    return this.#client?.isReady === true && this.#unconfirmed.size === 0;
  }

  listen(channel: string, listener: ChannelListener): () => void {
    const listeners = this.#listeners.get(channel);
    if (listeners !== undefined) {
      listeners.add(listener);
      if (!this.#unconfirmed.has(channel)) this.#confirmSoon(listeners, listener);
    } else if (this.#leaving.delete(channel)) {
      this.#idleBeats = 0;
      const anew = new Set([listener]);
      this.#listeners.set(channel, anew);
      this.#confirmSoon(anew, listener);
    } else {
      this.#idleBeats = 0;
      this.#listeners.set(channel, new Set([listener]));
      this.#unconfirmed.add(channel);
      if (this.#client === undefined) outOfScope(this.#connect);
      else if (this.#client.isReady) this.#subscribeSoon(channel);
    }
    return () => {
      this.#unlisten(channel, listener);
    };
  }

  /** Connects anew, to the server that is right now. */
  renew(): void {
    if (this.#client !== undefined) this.#onBroken();
  }

  close(): void {
    this.#isClosed = true;
    this.#listeners.clear();
    this.clock.cancel(this.#reconnect);
    this.#drop();
  }

  #unlisten(channel: string, listener: ChannelListener): void {
    const listeners = this.#listeners.get(channel);
    listeners?.delete(listener);
    if (listeners?.size !== 0) return;
    this.#listeners.delete(channel);
    this.#refused.delete(channel);
    const isUnconfirmed = this.#unconfirmed.delete(channel);
    if (this.#client?.isReady !== true) return;
    if (isUnconfirmed) {
      this.#unsubscribe([channel]);
      return;
    }
    this.#leaving.add(channel);
    this.#leave ??= this.#later(LEAVE_MS, () => {
      this.#leave = undefined;
      this.#unsubscribe([...this.#leaving]);
      this.#leaving.clear();
    });
  }

  #unsubscribe(channels: readonly string[]): void {
    const client = this.#client;
    // Sharded channels may have different slots, which one command must not name.
    const together =
      this.#kind === 'sharded' || channels.length === 0 ? channels.map((one) => [one]) : [channels];
    for (const some of together) {
      // If it fails, the connection is broken, and is replaced by one without these channels.
      client?.unsubscribe(this.#kind, some).catch(() => undefined);
    }
  }

  #confirmSoon(listeners: ReadonlySet<ChannelListener>, listener: ChannelListener): void {
    queueMicrotask(() => {
      if (listeners.has(listener)) listener.confirmed();
    });
  }

  readonly #connect = (): void => {
    if (this.#isClosed || this.#reconnect !== undefined) return;
    const client = this.#opened();
    if (client === undefined) return;
    this.#client = client;
    // Without a listener some clients print every failed attempt.
    client.on('failed', () => undefined);
    client.on('astray', () => {
      this.#onAstray(client);
    });
    client.on('ready', () => {
      this.#onReady(client);
    });
    client.on('ended', () => {
      if (this.#client === client) this.#onBroken();
    });
    client.on('message', (channel, payload) => {
      for (const listener of this.#listeners.get(channel) ?? []) listener.message(payload);
    });
    client.connect().catch(() => {
      if (this.#client === client) this.#onBroken();
    });
    this.#heartbeat = this.#later(CONNECT_MS, () => {
      this.#onBroken();
    });
  };

  #opened(): NodeClient | undefined {
    try {
      return this.open();
    } catch {
      // A Cluster may have no known node at the moment.
      this.#onBroken();
      return undefined;
    }
  }

  #onReady(client: NodeClient): void {
    if (this.#client !== client) return;
    this.#failures = 0;
    for (const channel of this.#listeners.keys()) this.#unconfirmed.add(channel);
    this.#subscribeAll();
    this.#beat(client);
  }

  /** The channels of one turn of the event loop travel in one command. */
  #subscribeSoon(channel: string): void {
    if (this.#joining.push(channel) > 1) return;
    queueMicrotask(() => {
      const channels = this.#joining.splice(0).filter((asked) => this.#listeners.has(asked));
      if (this.#client?.isReady && channels.length > 0) void this.#subscribe(channels);
    });
  }

  #subscribeAll(): void {
    if (this.#unconfirmed.size > 0) void this.#subscribe([...this.#unconfirmed]);
  }

  async #subscribe(channels: readonly string[]): Promise<void> {
    const client = this.#client;
    const asked = channels.map((channel) => [channel, this.#listeners.get(channel)] as const);
    try {
      await client?.subscribe(this.#kind, channels);
    } catch (error) {
      // A cut has an event of its own; any other error is a refusal, such as a missing right.
      const isRefused = this.#client === client && client?.isReady;
      if (isRefused) this.#onRefused(channels, error);
      return;
    }
    if (this.#client !== client) return;
    for (const [channel, listeners] of asked) this.#onConfirmed(channel, listeners);
  }

  /** Redis refuses a whole command for one channel that is out of reach, or of another slot. */
  #onRefused(channels: readonly string[], error: unknown): void {
    if (channels.length > 1) {
      for (const channel of channels) void this.#subscribe([channel]);
      return;
    }
    const [channel = ''] = channels;
    if (this.#refused.has(channel) || !this.#listeners.has(channel)) return;
    this.#refused.add(channel);
    this.onTrouble(error);
  }

  #onConfirmed(channel: string, listeners: Set<ChannelListener> | undefined): void {
    // A listener that left and returned meanwhile waits for a later answer.
    if (this.#listeners.get(channel) !== listeners) return;
    this.#refused.delete(channel);
    if (!this.#unconfirmed.delete(channel)) return;
    for (const listener of listeners ?? []) listener.confirmed();
  }

  #beat(client: NodeClient): void {
    this.clock.cancel(this.#heartbeat);
    this.#heartbeat = this.#later(HEARTBEAT_MS, () => {
      const silent = this.#later(ANSWER_MS, () => {
        client.end();
        if (this.#client === client) this.#onBroken();
      });
      client.send('ping').then(
        () => {
          this.clock.cancel(silent);
          if (this.#client !== client) return;
          // Redis may allow a refused channel by now.
          this.#subscribeAll();
          this.#idleBeats = this.#listeners.size === 0 ? this.#idleBeats + 1 : 0;
          if (this.#idleBeats < IDLE_BEATS) this.#beat(client);
          else this.#drop();
        },
        (error: unknown) => {
          this.clock.cancel(silent);
          if (this.#client !== client) return;
          // Without the right to PING a refusal proves that the connection works.
          if (isReply(error)) this.#beat(client);
          else this.#onBroken();
        },
      );
    });
  }

  /** Redis removed a channel, or another node has it: all channels are subscribed to anew. */
  #onAstray(client: NodeClient): void {
    if (this.onAstray !== undefined && this.#client === client) this.#onBroken();
  }

  #onBroken(): void {
    this.#drop();
    this.onAstray?.();
    if (this.#isClosed || this.#reconnect !== undefined) return;
    const delayMs = Math.min(reconnectDelayMs(++this.#failures), 250);
    this.#reconnect = this.#later(delayMs, () => {
      this.#reconnect = undefined;
      // Without listeners, the next listener opens the connection.
      if (this.#listeners.size > 0) this.#connect();
    });
  }

  /** Keeps no process alive. */
  #later(delayMs: number, callback: () => void): Timer | undefined {
    const timer = this.clock.after(delayMs, callback);
    timer?.unref();
    return timer;
  }

  #drop(): void {
    this.clock.cancel(this.#heartbeat);
    this.clock.cancel(this.#leave);
    this.#leave = undefined;
    this.#leaving.clear();
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    client.end();
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) listener.lost?.();
    }
  }
}
