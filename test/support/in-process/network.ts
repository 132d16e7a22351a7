import net from 'node:net';
import { Duplex } from 'node:stream';
import { afterLatency } from '../virtual-time.js';

/** Answers at a port of this process. */
export interface Listener {
  accept(socket: InProcessSocket): Receiver;
}

/** The server's end of a connection. */
export interface Receiver {
  receive(bytes: Buffer): void;
  /** The client has ended the connection. */
  ended(): void;
}

interface Network {
  readonly listeners: Map<number, Listener>;
  readonly connect: typeof net.createConnection;
  lastPort: number;
}

/** No system gives out such low ports, and specs take those below for where no server is. */
const FIRST_PORT = 100;

/** Jest gives each spec file its own modules, but one `net`. */
const shared: { networkOfSpecs?: Network } = net as object;
const network = (shared.networkOfSpecs ??= {
  listeners: new Map(),
  connect: net.createConnection,
  lastPort: FIRST_PORT - 1,
});

/** From now on the clients of this process reach the listener at the port. */
export function listen(listener: Listener, port = (network.lastPort += 1)): number {
  network.listeners.set(port, listener);
  Object.assign(net, { createConnection: connect, connect });
  return port;
}

/** The port refuses connections. */
export function stopListening(port: number): void {
  network.listeners.delete(port);
}

/** Every other port is one of a real server. */
function connect(...args: Parameters<typeof net.createConnection>): net.Socket {
  const [{ port }] = args as unknown as [{ port?: number | string }];
  const isOurs = Number(port) >= FIRST_PORT && Number(port) <= network.lastPort;
  return isOurs
    ? (new InProcessSocket(Number(port)) as unknown as net.Socket)
    : network.connect(...args);
}

/** The client's end of a connection, which needs no system. */
export class InProcessSocket extends Duplex {
  connecting = true;
  bytesRead = 0;
  bytesWritten = 0;
  readonly remoteAddress = '127.0.0.1';
  #receiver: Receiver | undefined;

  constructor(readonly remotePort: number) {
    super({ allowHalfOpen: false });
    afterLatency(() => {
      this.#connect();
    });
  }

  /** Bytes come from the server, or with `null` the end. */
  deliver(bytes: Buffer | null): void {
    this.bytesRead += bytes?.length ?? 0;
    this.push(bytes);
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  override _read(): void {
    // The server sends by itself.
  }

  override _write(bytes: Buffer, _: string, done: () => void): void {
    this.bytesWritten += bytes.length;
    afterLatency(() => this.#receiver?.receive(bytes));
    done();
  }

  override _final(done: () => void): void {
    this.#end();
    this.push(null);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#end();
    done(error);
  }

  #connect(): void {
    if (this.destroyed) return;
    const listener = network.listeners.get(this.remotePort);
    if (listener === undefined) {
      const refused = new Error(`connect ECONNREFUSED 127.0.0.1:${String(this.remotePort)}`);
      this.destroy(Object.assign(refused, { code: 'ECONNREFUSED', syscall: 'connect' }));
      return;
    }
    this.connecting = false;
    this.#receiver = listener.accept(this);
    this.emit('connect');
  }

  #end(): void {
    this.#receiver?.ended();
    this.#receiver = undefined;
  }
}
