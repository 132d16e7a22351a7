import { outOfScope, type Clock, type Timer } from '../core/time/clock.js';
import { isCluster, type Client, type NodeClient, type Traffic } from './client.js';
import type { ConnectionEvents } from './connection-events.js';

const BEAT_MS = 1_000;
/** A connection counts as half open when it has brought no byte for 3 beats. */
const SILENT_BEATS = 3;
const SILENT = 'Redis has not answered for 3 s';

/** These commands may wait in Redis for others, or for a thread of a module. */
const BLOCKING = /^(b[lrz]|wait|(ft|graph|rg)\.)/i;

type Command = NonNullable<Traffic['first']>;

interface Silence {
  readonly connection: unknown;
  readonly received: number;
  beats: number;
  /** Whether the server has answered over another connection. */
  answer: 'unknown' | 'requested' | 'given';
  warning?: string;
}

export function watchOver(
  client: Client,
  isOurs: boolean,
  events: ConnectionEvents,
  clock: Clock,
): AnswerWatch | undefined {
  if (isOurs && !isCluster(client) && client.endsSilence) return undefined;
  return new AnswerWatch(client, isOurs, events, clock);
}

/**
 * Finds a half-open connection within 4 s, and has it replaced. ioredis' own `socketTimeout` sets two
 * timers for every command. This watch beats once a second, and only while there are commands.
 */
export class AnswerWatch {
  #timer: Timer | undefined;
  #idleBeats = 0;
  readonly #silences = new Map<NodeClient, Silence>();
  readonly #probes = new Set<NodeClient>();

  constructor(
    private readonly client: Client,
    private readonly isOurs: boolean,
    private readonly events: ConnectionEvents,
    private readonly clock: Clock,
  ) {
    client.on('connected', this.#start);
    if (client.status === 'arriving') this.#start();
  }

  sent(): void {
    if (this.#timer === undefined) this.#start();
  }

  close(): void {
    this.#rest();
    this.client.off('connected', this.#start);
    this.#silences.clear();
    for (const probe of this.#probes) probe.end();
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
    for (const node of nodes) if (this.#waits(node)) this.#idleBeats = 0;
    for (const node of this.#silences.keys()) if (!nodes.includes(node)) this.#end(node);
    if (this.#idleBeats > SILENT_BEATS) this.#rest();
  };

  /** Also before it is ready: clients wait without a limit for the answers to their own commands. */
  #waits(node: NodeClient): boolean {
    const { traffic } = node;
    if (traffic === undefined) {
      this.#end(node);
      return false;
    }
    const { connection, received, pending, first } = traffic;
    const silence = this.#silences.get(node);
    // An answer of many megabytes arrives in parts.
    if (!silence || silence.connection !== connection || silence.received !== received) {
      this.#end(node);
      this.#silences.set(node, { connection, received, beats: 0, answer: 'unknown' });
      return true;
    }
    silence.beats++;
    if (!this.isOurs && first !== undefined && isBlocking(first)) {
      // Locks send nothing to a replica.
      if (pending > 1 && !node.isReplica) this.events.warn(blockedBy(first));
    } else if (silence.beats >= SILENT_BEATS) this.#onSilence(node, silence);
    return true;
  }

  /**
   * A break makes ioredis send the application's own commands again, or reject them. So its client
   * is left alone while the server is only slow, or unreachable.
   */
  #onSilence(node: NodeClient, silence: Silence): void {
    if (this.isOurs) node.cutOff(SILENT);
    else if (silence.answer === 'unknown') void this.#probe(node, silence);
    else if (silence.answer === 'requested') return;
    else if (this.client.reconnects) node.cutOff(SILENT);
    else if (!node.endsSilence) {
      this.events.warn((silence.warning = neverReplaced(node, this.client.remedy)));
    }
  }

  async #probe(node: NodeClient, silence: Silence): Promise<void> {
    silence.answer = 'requested';
    const isAlive = await this.#answersAnew(node).catch(() => false);
    silence.answer = isAlive ? 'given' : 'unknown';
    // One beat has to pass: a server that resumes may answer the new connection first.
    silence.beats = SILENT_BEATS - 2;
  }

  /** By a script, as ours: while writes are paused, a server answers others. */
  async #answersAnew(node: NodeClient): Promise<boolean> {
    const probe = node.another('probe');
    probe.on('failed', () => undefined);
    this.#probes.add(probe);
    try {
      return (await outOfScope(() => probe.evaluate('eval', ['return 1', 0]))) === 1;
    } finally {
      this.#probes.delete(probe);
      probe.end();
    }
  }

  #end(node: NodeClient): void {
    const warning = this.#silences.get(node)?.warning;
    if (warning !== undefined) this.events.forget(warning);
    this.#silences.delete(node);
  }
}

function isBlocking({ name, args }: Command): boolean {
  if (/^xread/i.test(name)) return args.some((arg) => /^block$/i.test(String(arg)));
  return BLOCKING.test(name);
}

function blockedBy({ name }: Command): string {
  return (
    `${name.toUpperCase()} blocks the connection that locks use, and delays their renewals; ` +
    'use a separate client for the locks'
  );
}

function neverReplaced({ address }: NodeClient, remedy: string): string {
  return `The connection to ${address} has been silent for 3 s; its client never reconnects; ${remedy}`;
}
