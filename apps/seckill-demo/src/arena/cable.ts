import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

/** The connection of one process to Redis: a proxy on the loopback interface, which can be cut. */
export class Cable {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  static async lay(port: number): Promise<Cable> {
    const server = createServer();
    const cable = new Cable(server, port);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return cable;
  }

  private constructor(
    private readonly server: Server,
    private port: number,
  ) {
    server.on('connection', (socket) => {
      this.#join(socket);
    });
    server.unref();
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Both ends stay connected but receive no data, as behind a switch without power. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Data sent in the meantime arrives now. */
  mend(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Ends all connections. New connections lead to another server. */
  turnTo(port: number): void {
    this.port = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(near: Socket): void {
    const far = connect(this.port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (data) => to.write(data));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isCut) from.pause();
    }
  }
}
