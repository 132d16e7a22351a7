import { Duplex } from 'node:stream';

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

/** How bytes travel. */
export interface Wire {
  there(arrived: () => void): void;
  back(arrived: () => void): void;
  /** The client has ended the connection. */
  end(noticed: () => void): void;
}

/** The client's end of a connection, which needs no system. */
export class InProcessSocket extends Duplex {
  connecting = true;
  bytesRead = 0;
  bytesWritten = 0;
  readonly remoteAddress = '127.0.0.1';
  #receiver: Receiver | undefined;
  #timeout: NodeJS.Timeout | undefined;

  /** @param reach finds what listens at the port by now */
  constructor(
    readonly remotePort: number,
    private readonly reach: () => Listener | undefined,
    private readonly wire: Wire,
  ) {
    super({ allowHalfOpen: false });
    wire.there(() => {
      const receiver = this.reach()?.accept(this);
      wire.back(() => {
        this.#connected(receiver);
      });
    });
  }

  /** The server sends bytes, or with `null` the end. */
  send(bytes: Buffer | null): void {
    this.wire.back(() => {
      if (this.destroyed) return;
      this.bytesRead += bytes?.length ?? 0;
      this.push(bytes);
    });
  }

  /** The connection breaks. */
  reset(): void {
    this.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  }

  /** Clients limit only the time to connect by it. */
  setTimeout(ms: number, callback?: () => void): this {
    clearTimeout(this.#timeout);
    if (ms > 0 && callback !== undefined) this.#timeout = setTimeout(callback, ms);
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
    this.wire.there(() => this.#receiver?.receive(bytes));
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

  #connected(receiver: Receiver | undefined): void {
    if (this.destroyed) {
      this.wire.end(() => receiver?.ended());
    } else if (receiver === undefined) {
      const refused = new Error(`connect ECONNREFUSED 127.0.0.1:${String(this.remotePort)}`);
      this.destroy(Object.assign(refused, { code: 'ECONNREFUSED', syscall: 'connect' }));
    } else {
      this.connecting = false;
      this.#receiver = receiver;
      this.emit('connect');
    }
  }

  #end(): void {
    clearTimeout(this.#timeout);
    const receiver = this.#receiver;
    this.#receiver = undefined;
    this.wire.end(() => receiver?.ended());
  }
}
