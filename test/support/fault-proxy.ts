import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../scripts/redis-server.mjs';
import type { Random } from './random.js';
import { FrameSplitter } from './resp.js';

export type Direction = 'toServer' | 'toClient';
export type CutKind = 'rst' | 'fin';

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

type Verdict =
  | { do: 'drop' }
  | { do: 'hold' }
  | { do: 'delay'; ms: number }
  /** Lets so many bytes of the frame pass, then cuts. */
  | { do: 'cut'; kind: CutKind; after: number };

interface Rule {
  direction: Direction;
  /** A null frame is the end of the stream. */
  judge(frame: Buffer | null, connection: ProxiedConnection): Verdict | null;
}

type Judge = (frame: Buffer, connection: ProxiedConnection) => Verdict | null;

/** Stands before a Redis server and does to its connections what networks do. */
export class FaultProxy {
  readonly counts = { accepted: 0, cut: 0, dropped: 0, held: 0, delayed: 0 };
  readonly #rules = new Set<Rule>();
  readonly #connections = new Set<ProxiedConnection>();
  readonly #target: { host: string; port: number };
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

/** One client's way to the server and back. */
export class ProxiedConnection {
  /** 1 for the first connection that the proxy accepted. */
  readonly index: number;
  /** The name that the client gave itself. */
  name: string | undefined;
  /** Whether the client has subscribed to anything. */
  subscriber = false;
  /** Commands passed on, and replies (not push messages) that came back. */
  requests = 0;
  replies = 0;
  readonly closed: Promise<void>;
  readonly #proxy: FaultProxy;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #pipes: Pipe[];

  constructor(proxy: FaultProxy, index: number, client: Socket, server: Socket) {
    this.index = index;
    this.#proxy = proxy;
    this.#client = client;
    this.#server = server;
    this.closed = Promise.all([ending(client), ending(server)]).then(() => undefined);
    this.#pipes = [
      new Pipe(proxy, this, { direction: 'toServer', from: client, to: server }),
      new Pipe(proxy, this, { direction: 'toClient', from: server, to: client }),
    ];
    // Nobody behind the proxy: the client must not be left with a connection to nowhere.
    server.once('error', () => {
      if (server.connecting || server.bytesRead === 0) client.resetAndDestroy();
    });
  }

  /** With `side: 'client'`, the server still gets what the proxy holds for it. */
  cut(kind: CutKind, side: 'client' | 'server' | 'both' = 'both'): void {
    this.#proxy.counts.cut += 1;
    if (side === 'both') for (const pipe of this.#pipes) pipe.sever();
    const sockets = { client: this.#client, server: this.#server };
    for (const socket of side === 'both' ? Object.values(sockets) : [sockets[side]]) {
      if (kind === 'rst') socket.resetAndDestroy();
      else socket.end();
    }
  }

  flush(): void {
    for (const pipe of this.#pipes) pipe.flush();
  }

  async destroy(): Promise<void> {
    for (const pipe of this.#pipes) pipe.sever();
    this.#client.destroy();
    this.#server.destroy();
    await this.closed;
  }

  /** For the pipes: learns from a frame, before it is judged. */
  sees(direction: Direction, frame: Buffer): void {
    if (direction === 'toClient') {
      if (frame[0] !== '>'.charCodeAt(0)) this.replies += 1;
      return;
    }
    const text = frame.toString('latin1', 0, 400);
    this.name = /\r\nsetname\r\n\$\d+\r\n([^\r]*)/i.exec(text)?.[1] ?? this.name;
    this.subscriber ||= /^\*\d+\r\n\$\d+\r\n[ps]?subscribe\r\n/i.test(text);
  }
}

interface Item {
  /** Null is the end of the stream. */
  bytes: Buffer | null;
  heldBy?: Rule;
  dueAt?: number;
  then?: () => void;
}

/** One direction of one connection. What waits in it keeps its order, as TCP does. */
class Pipe {
  readonly #proxy: FaultProxy;
  readonly #connection: ProxiedConnection;
  readonly #direction: Direction;
  readonly #to: Socket;
  readonly #frames = new FrameSplitter();
  readonly #queue: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(
    proxy: FaultProxy,
    connection: ProxiedConnection,
    { direction, from, to }: { direction: Direction; from: Socket; to: Socket },
  ) {
    this.#proxy = proxy;
    this.#connection = connection;
    this.#direction = direction;
    this.#to = to;
    from.on('data', (chunk: Buffer) => {
      for (const frame of this.#frames.push(chunk)) this.#take(frame);
      this.flush();
    });
    const end = () => {
      this.#end();
    };
    from.once('end', end).once('close', end);
  }

  flush(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const ready: Buffer[] = [];
    for (let item = this.#queue[0]; item; item = this.#queue[0]) {
      if (item.heldBy && this.#proxy.isActive(item.heldBy)) break;
      if (item.dueAt !== undefined && item.dueAt > now) {
        this.#timer = setTimeout(() => {
          this.flush();
        }, item.dueAt - now);
        break;
      }
      this.#queue.shift();
      if (item.bytes) ready.push(item.bytes);
      if (item.then) {
        this.#write(ready, item.then);
        return;
      }
      if (item.bytes === null) {
        this.#write(ready);
        this.#to.end();
        return;
      }
    }
    this.#write(ready);
  }

  /** Nothing passes any more, not even the end. */
  sever(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#queue.length = 0;
  }

  #take(frame: Buffer): void {
    if (this.#ended) return;
    this.#connection.sees(this.#direction, frame);
    this.#enqueue(frame);
  }

  #enqueue(bytes: Buffer | null): void {
    const { counts } = this.#proxy;
    const judged = this.#proxy.judge(this.#direction, bytes, this.#connection);
    if (judged?.verdict.do === 'drop') {
      counts.dropped += 1;
      return;
    }
    if (judged?.verdict.do === 'cut') {
      const { kind, after } = judged.verdict;
      const then = () => {
        this.#connection.cut(kind);
      };
      this.#queue.push({ bytes: bytes?.subarray(0, after) ?? null, then });
      this.#ended = true;
      return;
    }
    if (this.#direction === 'toServer' && bytes) this.#connection.requests += 1;
    const item: Item = { bytes };
    if (judged?.verdict.do === 'hold') {
      counts.held += 1;
      item.heldBy = judged.rule;
    } else if (judged) {
      counts.delayed += 1;
      item.dueAt = performance.now() + judged.verdict.ms;
    }
    this.#queue.push(item);
  }

  #write(chunks: Buffer[], then?: () => void): void {
    const bytes = Buffer.concat(chunks);
    // A reset overtakes what was written before it, unless that is on its way.
    if (bytes.length > 0 && this.#to.writable) this.#to.write(bytes, then);
    else then?.();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#frames.rest.length > 0) this.#enqueue(this.#frames.rest);
    this.#enqueue(null);
    this.flush();
  }
}

async function ending(socket: Socket): Promise<void> {
  // Resets are what this proxy is for.
  socket.on('error', () => undefined);
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
