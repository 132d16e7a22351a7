import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../scripts/redis-server.mjs';
import {
  ProxiedConnection,
  type CutKind,
  type Direction,
  type Referee,
  type Rule,
  type Verdict,
} from './proxied-connection.js';
import type { Random } from './random.js';

export interface FaultOptions {
  /** The connections concerned, also later ones; default: all. */
  where?: (connection: ProxiedConnection) => boolean;
  /** Only frames (commands, replies, messages) that hold this text. */
  containing?: string;
  /** The fault is over after so many frames. */
  times?: number;
}

/** On until `heal()`, which never waits; `hits` counts the frames concerned. */
export interface Fault {
  readonly hits: number;
  heal(): void;
}

type Judge = (frame: Buffer, connection: ProxiedConnection) => Verdict | null;

/** Stands before a Redis server and does to its connections what networks do. */
export class FaultProxy implements Referee {
  readonly counts = { accepted: 0, cut: 0, dropped: 0, held: 0, delayed: 0 };
  readonly #rules = new Set<Rule>();
  readonly #connections = new Set<ProxiedConnection>();
  #target: { host: string; port: number };
  #server: Server | undefined;
  #port = 0;

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  static async start({ host = '127.0.0.1', port }: { host?: string; port: number }) {
    const proxy = new FaultProxy({ host, port });
    await proxy.accept();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** The open connections, oldest first. */
  get connections(): ProxiedConnection[] {
    return [...this.#connections];
  }

  /** New connections lead to another server, as behind an address that fails over; open ones stay. */
  retarget({ host = '127.0.0.1', port }: { host?: string; port: number }): void {
    this.#target = { host, port };
  }

  /** New connections are refused by the kernel; open ones stay. */
  refuse(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Ends `refuse()`, on the same port. */
  async accept(): Promise<void> {
    while (!this.#server) {
      const port = this.#port || (await freePort());
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
        this.#adopt(client);
      });
      try {
        await once(server.listen(port, '127.0.0.1'), 'listening');
      } catch (error) {
        if (this.#port !== 0) throw error;
        continue;
      }
      this.#server = server;
      this.#port = port;
    }
  }

  /** Ends open connections now; answers how many. */
  cut({
    where = () => true,
    kind = 'rst',
    side = 'both',
  }: Pick<FaultOptions, 'where'> & { kind?: CutKind; side?: 'client' | 'server' | 'both' } = {}) {
    const concerned = this.connections.filter(where);
    for (const connection of concerned) connection.cut(kind, side);
    return concerned.length;
  }

  /** Bytes vanish and so does the end of the stream: neither side learns anything. */
  blackhole(
    direction: Direction | 'both' = 'both',
    options: Pick<FaultOptions, 'where'> = {},
  ): Fault {
    const judge = (): Verdict => ({ do: 'drop' });
    return this.#both(direction, (one) => this.#addRule(one, options, judge, true));
  }

  /** Frames vanish from an otherwise healthy stream, such as the messages of one channel. */
  drop(direction: Direction, options: FaultOptions = {}): Fault {
    return this.#addRule(direction, options, () => ({ do: 'drop' }));
  }

  /** Frames (and whatever follows them) wait in the proxy and are delivered by `heal()`. */
  hold(direction: Direction, options: FaultOptions = {}): Fault {
    return this.#addRule(direction, options, () => ({ do: 'hold' }), true);
  }

  /** Each frame takes longer, in its order; `jitterMs` is the most that chance adds. */
  delay(
    direction: Direction | 'both',
    ms: number,
    {
      jitterMs = 0,
      random,
      ...options
    }: FaultOptions & { jitterMs?: number; random?: Random } = {},
  ): Fault {
    const draw = () => ms + jitterMs * (random?.next() ?? Math.random());
    return this.#both(direction, (one) =>
      this.#addRule(one, options, () => ({ do: 'delay', ms: draw() }), true),
    );
  }

  /** The command never reaches the server, and its connection is cut. */
  loseRequest({ kind = 'rst', ...options }: FaultOptions & { kind?: CutKind } = {}): Fault {
    return this.#addRule('toServer', options, () => ({ do: 'cut', kind, after: 0 }));
  }

  /** The proxy loses the answers to so many runs of the script. */
  loseAnswerTo({ sha1 }: { readonly sha1: string }, times = 1): Fault {
    return this.loseReply({ containing: sha1, times });
  }

  /**
   * The server executes the command, its reply is lost, and the connection is cut: the case in
   * which ioredis sends the command again. `containing` is looked for in the command. Not for
   * subscribed connections, where replies and messages cannot be told apart.
   */
  loseReply({
    kind = 'rst',
    times = Infinity,
    ...options
  }: FaultOptions & { kind?: CutKind } = {}): Fault {
    let chosen = 0;
    const lost = new WeakMap<ProxiedConnection, Set<number>>();
    const requests = this.#addRule('toServer', options, (_, connection) => {
      if (chosen === times) return null;
      chosen += 1;
      const numbers = lost.get(connection) ?? new Set();
      lost.set(connection, numbers.add(connection.requests + 1));
      return null;
    });
    const replies = this.#addRule('toClient', {}, (_, connection) =>
      lost.get(connection)?.has(connection.replies) ? { do: 'cut', kind, after: 0 } : null,
    );
    return {
      get hits() {
        return replies.hits;
      },
      heal() {
        requests.heal();
        replies.heal();
      },
    };
  }

  /** Each connection concerned is cut after so many further bytes, wherever that is. */
  cutAfter(
    direction: Direction,
    bytes: number,
    { kind = 'fin', ...options }: FaultOptions & { kind?: CutKind } = {},
  ): Fault {
    const passed = new WeakMap<ProxiedConnection, number>();
    return this.#addRule(direction, options, (frame, connection) => {
      const left = bytes - (passed.get(connection) ?? 0);
      passed.set(connection, (passed.get(connection) ?? 0) + frame.length);
      return frame.length >= left ? { do: 'cut', kind, after: left } : null;
    });
  }

  /** Ends all faults, also `refuse()`; held frames are delivered. */
  async heal(): Promise<void> {
    this.#rules.clear();
    this.#flush();
    await this.accept();
  }

  /** Leaves no socket, timer or listener. */
  async close(): Promise<void> {
    this.refuse();
    this.#rules.clear();
    await Promise.all(this.connections.map((connection) => connection.destroy()));
  }

  /** For the pipes: what happens to a frame. */
  judge(direction: Direction, frame: Buffer | null, connection: ProxiedConnection) {
    for (const rule of this.#rules) {
      const verdict = rule.direction === direction ? rule.judge(frame, connection) : null;
      if (verdict) return { rule, verdict };
    }
    return null;
  }

  isActive(rule: Rule): boolean {
    return this.#rules.has(rule);
  }

  #adopt(client: Socket): void {
    this.counts.accepted += 1;
    const server = createConnection({ ...this.#target, allowHalfOpen: true, noDelay: true });
    const connection = new ProxiedConnection(this, this.counts.accepted, client, server);
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
  }

  #addRule(
    direction: Direction,
    { where = () => true, containing, times = Infinity }: FaultOptions,
    judge: Judge,
    concernsEnd = false,
  ): Fault {
    const fault = { hits: 0, heal };
    const rule: Rule = {
      direction,
      judge: (frame, connection) => {
        if (fault.hits >= times || !where(connection)) return null;
        if (frame === null) {
          const ends = concernsEnd && containing === undefined;
          return ends ? judge(Buffer.alloc(0), connection) : null;
        }
        if (containing !== undefined && !frame.includes(containing)) return null;
        const verdict = judge(frame, connection);
        if (verdict) fault.hits += 1;
        return verdict;
      },
    };
    const flush = () => {
      this.#flush();
    };
    const rules = this.#rules.add(rule);
    function heal() {
      rules.delete(rule);
      flush();
    }
    return fault;
  }

  #both(direction: Direction | 'both', add: (direction: Direction) => Fault): Fault {
    if (direction !== 'both') return add(direction);
    const faults = [add('toServer'), add('toClient')];
    return {
      get hits() {
        return faults.reduce((sum, fault) => sum + fault.hits, 0);
      },
      heal() {
        for (const fault of faults) fault.heal();
      },
    };
  }

  #flush(): void {
    for (const connection of this.#connections) connection.flush();
  }
}
