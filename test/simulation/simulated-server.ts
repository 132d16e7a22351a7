import type { Command } from '../../libs/redis-lock/src/testing/server/commands/command.js';
import { CommandError, SortedSet, Store } from '../../libs/redis-lock/src/testing/server/store.js';
import { CountingServer } from '../support/in-process/counting-server.js';
import { EPOCH_MS } from '../../libs/world/src/simulated-process.js';
import type { Link } from '../../libs/world/src/link.js';
import type { Actor, World } from '../../libs/world/src/world.js';

interface Write {
  readonly at: number;
  /** The time that stood still for the command. */
  readonly now: number;
  readonly command: Command;
  readonly words: readonly string[];
}

/** A replica that has every write of its master after this lag. */
class Replica {
  readonly store: Store;
  #next: number;

  constructor(
    private readonly master: SimulatedServer,
    public lagMs: number,
  ) {
    this.store = copyOf(master.store);
    this.#next = master.writes.length;
  }

  /** The number of writes that it has. */
  has(now: number): number {
    const { writes } = this.master;
    for (let write = writes[this.#next]; write; write = writes[this.#next]) {
      if (write.at + this.lagMs > now) break;
      this.store.now = write.now;
      write.command.run(this.store, write.words, this.master);
      this.#next += 1;
    }
    return this.#next;
  }
}

/** The pause between two looks at the replicas. */
const LOOK_MS = 5;

/** A Redis server of the world. */
export class SimulatedServer extends CountingServer implements Actor {
  stillUntil = 0;
  isUp = true;
  /** It answers as before, but it is a master no more. */
  isDemoted = false;
  clockAheadMs = 0;
  readonly links = new Set<Link>();
  readonly replicas: Replica[] = [];
  readonly writes: Write[] = [];
  /** A database in which a connection is by mistake. */
  readonly #elsewhere = new Store();
  /** The database of the locks, while a connection is in the other one. */
  #main: Store | undefined;
  #refusesUntil = 0;
  /** The server that it has replaced. */
  #former: SimulatedServer | undefined;
  #runId: string;
  #startedAt: number;

  constructor(
    private readonly world: World,
    readonly name: string,
    /** Holders and waiters are stored in this database. */
    readonly database: number,
  ) {
    const wall = () => EPOCH_MS + world.now + this.clockAheadMs;
    super({ wall, now: () => world.now } as CountingServer['clock'], name);
    this.#runId = `${name}x1`;
    // Old enough to have forgotten no lease.
    this.#startedAt = wall() - 7 * 24 * 60 * 60 * 1_000;
  }

  override commandOf(name: string, args: readonly string[], isFull: boolean): Command {
    const command = super.commandOf(name, args, isFull);
    if (!command.isWrite) return command;
    if (this.isDemoted) {
      throw new CommandError("READONLY You can't write against a read only replica.");
    }
    if (this.replicas.length === 0 || this.#main !== undefined) return command;
    const { world, writes } = this;
    const run: Command['run'] = (store, words, server) => {
      writes.push({ at: world.now, now: store.now, command, words });
      return command.run(store, words, server);
    };
    return { ...command, run };
  }

  /** A replica has each message, too, and its subscribers count for nothing. */
  override publish(channel: string, message: string, isSharded: boolean): number {
    if (this.#former?.isDemoted === true) this.#former.publish(channel, message, isSharded);
    return super.publish(channel, message, isSharded);
  }

  override whenInStep(replicas: number, ms: number, callback: (have: number) => void): void {
    const { world, writes } = this;
    const written = writes.length;
    const until = world.now + ms;
    const look = () => {
      const have = this.replicas.filter((one) => one.has(world.now) >= written).length;
      if (have >= replicas || world.now >= until) callback(have);
      else world.after(LOOK_MS, look, this);
    };
    look();
  }

  override info(section: string): string {
    if (section !== 'server') return `role:${this.isDemoted ? 'slave' : 'master'}\r\n`;
    const uptime = Math.floor((this.clock.wall() - this.#startedAt) / 1_000);
    return `run_id:${this.#runId}\r\nuptime_in_seconds:${String(uptime)}\r\n`;
  }

  /** Its commands work in this database from now on. */
  enter(database: number): void {
    const isElsewhere = database !== this.database;
    if (isElsewhere === (this.#main !== undefined)) return;
    const store = this.#main ?? this.#elsewhere;
    this.#main = isElsewhere ? this.store : undefined;
    Object.assign(this, { store });
  }

  /** After a start, the rights of its users may be missing for a while. */
  get refusesSelect(): boolean {
    return this.world.now < this.#refusesUntil;
  }

  stall(ms: number): void {
    this.stillUntil = Math.max(this.stillUntil, this.world.now + ms);
  }

  /** It is gone until `start`. */
  crash(): void {
    this.isUp = false;
    for (const link of [...this.links]) link.cut();
  }

  /** @param data what it finds on its disk */
  start(data: Store): void {
    this.isUp = true;
    this.#startedAt = this.clock.wall();
    this.#runId = `${this.name}x${String(Math.floor(this.world.now))}`;
    this.#take(data);
    const { random, now } = this.world;
    if (this.database > 0) this.#refusesUntil = now + random.next() * random.pick([0, 50, 500]);
  }

  /** The writes until some time ago, as a disk or a replica has them. */
  past(replica: Replica): Store {
    replica.has(this.world.now);
    return replica.store;
  }

  /** The replica becomes the master. This server answers its clients until it is demoted. */
  replacedBy(replica: Replica): SimulatedServer {
    const [base = '', number = 1] = this.name.split('n');
    const name = `${base}n${String(Number(number) + 1)}`;
    const successor = new SimulatedServer(this.world, name, this.database);
    successor.clockAheadMs = this.clockAheadMs;
    successor.#former = this;
    successor.#take(this.past(replica));
    for (const { lagMs } of this.replicas.splice(0)) successor.replicate(lagMs);
    return successor;
  }

  /** One more replica, or copy on a disk. It has everything that is here now. */
  replicate(lagMs: number): void {
    this.replicas.push(new Replica(this, lagMs));
  }

  #take(data: Store): void {
    Object.assign(this, { store: copyOf(data) });
    this.writes.length = 0;
    for (const [i, { lagMs }] of this.replicas.entries()) {
      this.replicas[i] = new Replica(this, lagMs);
    }
  }
}

/** A failover gives it another master. */
export class Address {
  constructor(public master: SimulatedServer) {}
}

function copyOf(store: Store): Store {
  const copy = new Store();
  for (const key of store.keys) {
    const endsAt = store.endOf(key);
    const type = store.typeOf(key) ?? 'string';
    copy.put(key, type, copyOfValue(store.find(key, type)) as never, endsAt);
  }
  return copy;
}

function copyOfValue(value: unknown): unknown {
  if (value instanceof Map) return new Map(value);
  if (value instanceof Set) return new Set(value);
  if (Array.isArray(value)) return [...(value as unknown[])];
  if (!(value instanceof SortedSet)) return { ...(value as object) };
  const copy = new SortedSet();
  for (const [member, score] of value.sorted) copy.set(member, score);
  return copy;
}
