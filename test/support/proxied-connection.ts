import type { Socket } from 'node:net';
import { FrameSplitter } from './resp.js';

export type Direction = 'toServer' | 'toClient';
export type CutKind = 'rst' | 'fin';

export type Verdict =
  | { do: 'drop' }
  | { do: 'hold' }
  | { do: 'delay'; ms: number }
  /** Lets so many bytes of the frame pass, then cuts. */
  | { do: 'cut'; kind: CutKind; after: number };

export interface Rule {
  direction: Direction;
  /** A null frame is the end of the stream. */
  judge(frame: Buffer | null, connection: ProxiedConnection): Verdict | null;
}

/** Decides what happens on the way. */
export interface Referee {
  readonly counts: { cut: number; dropped: number; held: number; delayed: number };
  judge(
    direction: Direction,
    frame: Buffer | null,
    connection: ProxiedConnection,
  ): { rule: Rule; verdict: Verdict } | null;
  isActive(rule: Rule): boolean;
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
  readonly #referee: Referee;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #pipes: Pipe[];

  constructor(referee: Referee, index: number, client: Socket, server: Socket) {
    this.index = index;
    this.#referee = referee;
    this.#client = client;
    this.#server = server;
    this.closed = Promise.all([ending(client), ending(server)]).then(() => undefined);
    this.#pipes = [
      new Pipe(referee, this, { direction: 'toServer', from: client, to: server }),
      new Pipe(referee, this, { direction: 'toClient', from: server, to: client }),
    ];
    // No server is behind the proxy: the client must not be left with a connection to nowhere.
    server.once('error', () => {
      if (server.connecting || server.bytesRead === 0) reset(client);
    });
  }

  /** With `side: 'client'`, the server still gets what the proxy holds for it. */
  cut(kind: CutKind, side: 'client' | 'server' | 'both' = 'both'): void {
    this.#referee.counts.cut += 1;
    if (side === 'both') for (const pipe of this.#pipes) pipe.sever();
    const sockets = { client: this.#client, server: this.#server };
    for (const socket of side === 'both' ? Object.values(sockets) : [sockets[side]]) {
      if (kind === 'rst') reset(socket);
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

/** One direction of one connection. Frames that wait in it keep their order, as TCP does. */
class Pipe {
  readonly #referee: Referee;
  readonly #connection: ProxiedConnection;
  readonly #direction: Direction;
  readonly #to: Socket;
  readonly #frames = new FrameSplitter();
  readonly #queue: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(
    referee: Referee,
    connection: ProxiedConnection,
    { direction, from, to }: { direction: Direction; from: Socket; to: Socket },
  ) {
    this.#referee = referee;
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
      if (item.heldBy && this.#referee.isActive(item.heldBy)) break;
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
    const { counts } = this.#referee;
    const judged = this.#referee.judge(this.#direction, bytes, this.#connection);
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

/** Node 20 never says that a socket is closed if a reset overtakes its own end. */
function reset(socket: Socket): void {
  const isEnding = socket.writableEnded && !socket.writableFinished;
  if (isEnding) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}

async function ending(socket: Socket): Promise<void> {
  // Resets are what this proxy is for.
  socket.on('error', () => undefined);
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}
