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
  readonly #joining = new Set<string>();
  /**
   * Channels whose SUBSCRIBE has no answer yet. Until then none is left or requested again:
   * node-redis would take the first answer for the last one.
   */
  readonly #requested = new Set<string>();
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
    if (!this.#unconfirmed.delete(channel) && this.#client?.isReady) this.#leaveSoon(channel);
  }

  #leaveSoon(channel: string): void {
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
    this.#subscribe(this.#unconfirmed);
    this.#beat(client);
  }

  /** The channels of one turn of the event loop travel in one command. */
  #subscribeSoon(channel: string): void {
    if (this.#joining.size === 0) {
      queueMicrotask(() => {
        this.#subscribe(this.#joining);
        this.#joining.clear();
      });
    }
    this.#joining.add(channel);
  }

  /** Those among the channels that have listeners, and are not on their way. */
  #subscribe(channels: Iterable<string>): void {
    const anew = [...channels].filter(
      (channel) => this.#listeners.has(channel) && !this.#requested.has(channel),
    );
    if (this.#client?.isReady && anew.length > 0) void this.#request(this.#client, anew);
  }

  async #request(client: NodeClient, channels: readonly string[]): Promise<void> {
    for (const channel of channels) this.#requested.add(channel);
    let refusal: unknown;
    try {
      await client.subscribe(this.#kind, channels);
    } catch (error) {
      refusal = error;
    }
    // A cut has an event of its own; any other error is a refusal, such as a missing right.
    if (this.#client !== client || !client.isReady) return;
    for (const channel of channels) this.#requested.delete(channel);
    if (refusal !== undefined) this.#onRefused(channels, refusal);
    else for (const channel of channels) this.#onConfirmed(channel);
  }

  /** Redis refuses a whole command for one channel that is out of reach, or of another slot. */
  #onRefused(channels: readonly string[], error: unknown): void {
    if (channels.length > 1) {
      for (const channel of channels) this.#subscribe([channel]);
      return;
    }
    const [channel = ''] = channels;
    if (this.#refused.has(channel) || !this.#listeners.has(channel)) return;
    this.#refused.add(channel);
    this.onTrouble(error);
  }

  #onConfirmed(channel: string): void {
    const listeners = this.#listeners.get(channel);
    if (listeners === undefined) {
      this.#leaveSoon(channel);
      return;
    }
    this.#refused.delete(channel);
    if (!this.#unconfirmed.delete(channel)) return;
    for (const listener of listeners) listener.confirmed();
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
          this.#subscribe(this.#unconfirmed);
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
    this.#requested.clear();
    const client = this.#client;
    this.#client = undefined;
    if (client === undefined) return;
    client.end();
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) listener.lost?.();
    }
  }
}
