import { systemClock } from '../../../libs/redis-lock/src/core/time/clock.js';
import {
  OK,
  type CommandReply,
} from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import { CommandError } from '../../../libs/redis-lock/src/testing/server/store.js';
import { CountingServer } from './counting-server.js';
import { listen, stopListening } from './network.js';
import { Session, type Host } from './session.js';
import type { InProcessSocket, Listener, Receiver } from './socket.js';

/** Redis in this process, at a port: clients reach it as they reach a real one. */
export class InProcessRedis implements Listener, Host {
  readonly port: number;
  readonly sessions = new Set<Session>();
  readonly server: CountingServer;
  /** Commands that came while it stood still. */
  #held: (() => void)[] | undefined;

  constructor({ port }: { port?: number } = {}) {
    this.port = listen(this, port);
    // A spec that sets the clock of its process does not set that of the server.
    const startedAt = Date.now() - performance.now();
    const wall = () => startedAt + performance.now();
    this.server = new CountingServer({ ...systemClock, wall });
  }

  get url(): string {
    return `redis://127.0.0.1:${String(this.port)}`;
  }

  accept(socket: InProcessSocket): Receiver {
    const session = new Session(this, socket);
    this.sessions.add(session);
    return session;
  }

  run(work: () => void): void {
    if (this.#held === undefined) work();
    else this.#held.push(work);
  }

  select(database: string): CommandReply {
    return database === '0' ? OK : new CommandError('ERR DB index is out of range');
  }

  pause(): void {
    this.#held ??= [];
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const work of held) work();
  }

  /** As a crash: its data is gone. */
  kill(): Promise<void> {
    this.#held = undefined;
    stopListening(this.port);
    for (const session of this.sessions) session.cut();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.kill();
    const unknown = [...this.server.unknown];
    if (unknown.length > 0) throw new Error(`Take useRealRedis(): ${unknown.join('; ')}`);
  }
}
