import { Redis } from 'ioredis';
import type { RedisConnection } from '../../../libs/redis-lock/src/core/redis/connection.js';
import {
  OK,
  type CommandReply,
} from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import { CommandError } from '../../../libs/redis-lock/src/testing/server/store.js';
import { prepareConnection } from '../../support/open-connection.js';
import { Session, type Host } from '../../support/in-process/session.js';
import { InProcessSocket, type Listener, type Receiver } from '../../support/in-process/socket.js';
import { Link, type Site } from '../../../libs/world/src/link.js';
import type { Address, SimulatedServer } from '../simulated-server.js';

/** The port of a server, with its sessions. */
class Door implements Host, Listener {
  readonly sessions = new Set<Session>();
  /** The one of each new connection. */
  #database = 0;

  constructor(
    readonly server: SimulatedServer,
    private readonly link: Link,
  ) {}

  accept(socket: InProcessSocket): Receiver {
    const session = new Session(this, socket);
    this.sessions.add(session);
    this.link.onForgotten(() => {
      session.ended();
    });
    return session;
  }

  run(work: () => void): void {
    this.server.enter(this.#database);
    work();
    this.server.enter(this.server.database);
  }

  select(database: string): CommandReply {
    if (this.server.refusesSelect) return new CommandError('NOPERM no right to run SELECT');
    this.#database = Number(database);
    this.server.enter(this.#database);
    return OK;
  }

  pause(): void {
    throw new Error('A world pauses its servers itself');
  }

  resume(): void {
    this.pause();
  }
}

/** The library's connection by ioredis, from one process of a world. */
export class SimulatedClient {
  readonly connection: RedisConnection;
  readonly #links = new Set<Link>();
  /** None if the library has opened the client. */
  readonly #callers: Redis | undefined;

  constructor(
    private readonly site: Site,
    readonly address: Address,
  ) {
    const { database: db } = address.master;
    const options = { Connector: this.#connectorClass(), db } as unknown as { host: string };
    const { clock, random } = site.process;
    if (site.world.random.chance(0.5)) {
      this.#callers = new Redis(options);
      this.#callers.on('error', () => undefined);
    }
    const connection = this.#callers ?? options;
    const time = { clock, random };
    const prepared = prepareConnection(connection, undefined, 'auto', 'warn', time);
    prepared.open();
    this.connection = prepared;
  }

  get links(): Link[] {
    return [...this.#links];
  }

  /** The service ends its own client after the locks. */
  end(): void {
    this.#callers?.disconnect();
  }

  #connectorClass() {
    const open = () => this.#socket();
    return class {
      #socket: InProcessSocket | undefined;

      connect() {
        this.#socket = open();
        return Promise.resolve(this.#socket);
      }

      disconnect(): void {
        this.#socket?.end();
      }

      check(): boolean {
        return true;
      }
    };
  }

  #socket(): InProcessSocket {
    const { mishaps } = this.site;
    const server = this.address.master;
    const link: Link = new Link(this.site, server, () => {
      this.#links.delete(link);
      socket.reset();
    });
    this.#links.add(link);
    const listener = () => (server.isUp ? new Door(server, link) : undefined);
    const socket = new InProcessSocket(6_379, listener, {
      there: (arrived) => {
        if (mishaps.happens('unsent')) link.cut();
        link.send(arrived);
      },
      back: (arrived) => {
        if (mishaps.happens('unanswered')) link.cut();
        link.deliver(arrived);
      },
      // The server notices it by the end of the link.
      end: () => {
        link.cut();
      },
    });
    return socket;
  }
}
