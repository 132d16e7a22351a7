import type { Cluster, Redis } from 'ioredis';

import { outOfScope, type Clock, type Timer } from '../core/time/clock.js';
import type { ConnectionEvents } from './connection-events.js';
import { another, disconnect, isCluster, reconnects } from './redis-client.js';

const BEAT_MS = 1_000;
/** A connection counts as half open when it has brought no byte for 3 beats. */
const SILENT_BEATS = 3;
const PROBE_MS = 3_000;

/** These commands may wait in Redis for others, or for a thread of a module. */
const BLOCKING = /^(b[lrz]|wait|(ft|graph|rg)\.)/i;

/** As ioredis keeps it privately: the commands without an answer, in their order. */
interface CommandQueue {
  readonly length: number;
  peekFront(): { readonly command: Command } | undefined;
}

interface Command {
  readonly name: string;
  readonly args: readonly unknown[];
}

interface Silence {
  readonly stream: Redis['stream'];
  readonly bytesRead: number;
  beats: number;
  /** Whether the server has answered over another connection. */
  answer: 'unknown' | 'requested' | 'given';
  warning?: string;
}

/** Our own client with a `socketTimeout` watches itself. */
export function watchOver(
  client: Redis | Cluster,
  isOurs: boolean,
  events: ConnectionEvents,
  clock: Clock,
): AnswerWatch | undefined {
  const watchesItself = !isCluster(client) && client.options.socketTimeout !== undefined;
  if (isOurs && watchesItself) return undefined;
  return new AnswerWatch(client, isOurs, events, clock);
}

/**
 * Finds a half-open connection within 4 s, and has it replaced. ioredis' own `socketTimeout` sets two
 * timers for every command. This watch beats once a second, and only while there are commands.
 */
export class AnswerWatch {
  #timer: Timer | undefined;
  #idleBeats = 0;
  readonly #silences = new Map<Redis, Silence>();
  readonly #probes = new Set<Redis>();

  constructor(
    private readonly client: Redis | Cluster,
    private readonly isOurs: boolean,
    private readonly events: ConnectionEvents,
    private readonly clock: Clock,
  ) {
    client.on('connect', this.#start);
    if (client.status === 'connect') this.#start();
  }

  sent(): void {
    if (this.#timer === undefined) this.#start();
  }

  close(): void {
    this.#rest();
    this.client.off('connect', this.#start);
    this.#silences.clear();
    for (const probe of this.#probes) disconnect(probe);
  }

  readonly #start = (): void => {
    this.#idleBeats = 0;
    if (this.#timer === undefined) outOfScope(this.#beatLater);
  };

  readonly #beatLater = (): void => {
    this.#timer = this.clock.after(BEAT_MS, this.#beat);
    this.#timer?.unref();
  };

  #rest(): void {
    this.clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  readonly #beat = (): void => {
    // First: an observer may close the connection during this beat.
    this.#beatLater();
    this.#idleBeats++;
    const nodes = isCluster(this.client) ? this.client.nodes('all') : [this.client];
    for (const node of nodes) if (this.#hasCommands(node)) this.#idleBeats = 0;
    for (const node of this.#silences.keys()) if (!nodes.includes(node)) this.#end(node);
    if (this.#idleBeats > SILENT_BEATS) this.#rest();
  };

  /** Also before it is ready: ioredis waits without a limit for the answers to its own commands. */
  #hasCommands(node: Redis): boolean {
    const { status, stream } = node;
    const isOpen = status === 'connect' || status === 'ready';
    const queue = queueOf(node);
    const first = isOpen ? queue?.peekFront()?.command : undefined;
    if (queue === undefined || first === undefined) {
      this.#end(node);
      return false;
    }
    const silence = this.#silences.get(node);
    if (silence === undefined || !isStill(silence, node)) {
      this.#end(node);
      const { bytesRead } = stream;
      this.#silences.set(node, { stream, bytesRead, beats: 0, answer: 'unknown' });
      return true;
    }
    silence.beats++;
    if (!this.isOurs && isBlocking(first)) {
      // Locks send nothing to a replica.
      if (queue.length > 1 && !node.options.readOnly) this.events.warn(blockedBy(first));
    } else if (silence.beats >= SILENT_BEATS) this.#onSilence(node, silence);
    return true;
  }

  /**
   * A break makes ioredis send the application's own commands again, or reject them. So its client
   * is left alone while the server is only slow, or unreachable.
   */
  #onSilence(node: Redis, silence: Silence): void {
    if (this.isOurs) replace(node);
    else if (silence.answer === 'unknown') void this.#probe(node, silence);
    else if (silence.answer === 'requested') return;
    else if (reconnects(this.client)) replace(node);
    else if (node.options.socketTimeout === undefined) {
      this.events.warn((silence.warning = neverReplaced(this.client, node)));
    }
  }

  async #probe(node: Redis, silence: Silence): Promise<void> {
    silence.answer = 'requested';
    const isAlive = await this.#answersAnew(node).catch(() => false);
    silence.answer = isAlive ? 'given' : 'unknown';
    // One beat has to pass: a server that resumes may answer the new connection first.
    silence.beats = SILENT_BEATS - 2;
  }

  /** By a script, as ours: while writes are paused, a server answers others. */
  async #answersAnew(node: Redis): Promise<boolean> {
    const probe = another(node, {
      ...{ lazyConnect: true, enableOfflineQueue: true, enableAutoPipelining: false },
      ...{ connectTimeout: PROBE_MS, socketTimeout: PROBE_MS },
      ...{ retryStrategy: () => null, sentinelRetryStrategy: () => null, reconnectOnError: null },
    });
    probe.on('error', () => undefined);
    this.#probes.add(probe);
    try {
      return (await outOfScope(() => probe.eval('return 1', 0))) === 1;
    } finally {
      this.#probes.delete(probe);
      disconnect(probe);
    }
  }

  #end(node: Redis): void {
    const warning = this.#silences.get(node)?.warning;
    if (warning !== undefined) this.events.forget(warning);
    this.#silences.delete(node);
  }
}

function queueOf(client: Redis): CommandQueue | undefined {
  return (client as unknown as { readonly commandQueue?: CommandQueue }).commandQueue;
}

/** Whether no byte has arrived since: an answer of many megabytes arrives in parts. */
function isStill({ stream, bytesRead }: Silence, node: Redis): boolean {
  return node.stream === stream && stream.bytesRead === bytesRead;
}

function isBlocking({ name, args }: Command): boolean {
  if (/^xread/i.test(name)) return args.some((arg) => /^block$/i.test(String(arg)));
  return BLOCKING.test(name);
}

/** At once: a half-open connection would never confirm its end. */
function replace({ stream }: Redis): void {
  stream.destroy(new Error('Redis has not answered for 3 s'));
}

function blockedBy({ name }: Command): string {
  return (
    `${name.toUpperCase()} blocks the connection that locks use, and delays their renewals; ` +
    'use a separate client for the locks'
  );
}

function neverReplaced(client: Redis | Cluster, { stream }: Redis): string {
  const strategy = isCluster(client) ? 'clusterRetryStrategy' : 'retryStrategy';
  return (
    `The connection to ${String(stream.remoteAddress)}:${String(stream.remotePort)} has been silent for 3 s; ` +
    `its client never reconnects; set its ${strategy} and its socketTimeout`
  );
}
