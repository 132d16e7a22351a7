import { RedisServer } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { bytesOf } from '../../libs/redis-lock/src/testing/server/bytes.js';
import { CountingServer } from '../support/in-process/counting-server.js';
import { Random } from '../support/random.js';
import { PRIMITIVES, SHARED } from '../simulation/plan.js';
import { planFor, type Short } from '../simulation/planted/planted.js';
import { simulate } from '../simulation/simulation.js';
import { callOf, CHANNELS, damage, type NamedScript } from '../testing/script-calls.js';
import { rowsOf, type Call } from './calls.js';
import { watch } from './watch.js';

/** A call, and where it came from. */
export interface Recorded extends Call {
  /** Undefined for a random call. */
  readonly history?: Short | undefined;
  /** The statements that it reaches. */
  readonly path: readonly number[];
}

/** The most calls of a script that reach the same statements, and in all. */
const MOST_ALIKE = 15;
const MOST_OF_SCRIPT = 2_000;

/** Keeps calls of scripts, with all that they see. */
export class Recording {
  readonly calls: Recorded[] = [];
  readonly #alike = new Map<string, number>();
  #path = new Set<number>();

  /** Calls are recorded while the work is done. */
  async during(scripts: readonly NamedScript[], work: () => Promise<void>): Promise<void> {
    const { evaluate } = RedisServer.prototype;
    const names = new Map(scripts.map(({ name, lua }) => [lua, name]));
    const unwatch = watch(scripts, (_, statement) => this.#path.add(statement));
    const record = (server: RedisServer, ...given: Parameters<typeof evaluate>) => {
      const call = callBefore(server, names.get(given[0].lua) ?? '', given[1], given[2]);
      this.#path = new Set();
      try {
        return evaluate.apply(server, given);
      } finally {
        this.#keep(call);
      }
    };
    RedisServer.prototype.evaluate = function (this: RedisServer, ...given) {
      return record(this, ...given);
    };
    try {
      await work();
    } finally {
      unwatch();
      RedisServer.prototype.evaluate = evaluate;
    }
  }

  history: Recorded['history'];
  denied: readonly string[] = [];

  #keep(call: Call): void {
    const { history, denied } = this;
    const path = [...this.#path].sort((a, b) => a - b);
    const source = history === undefined ? 'random' : 'history';
    const [alike, all] = [`${source} ${call.script} ${path.join()}`, `${source} ${call.script}`];
    const [count, sum] = [this.#alike.get(alike) ?? 0, this.#alike.get(all) ?? 0];
    if (call.script === '' || count >= MOST_ALIKE || sum >= MOST_OF_SCRIPT) return;
    this.#alike.set(alike, count + 1).set(all, sum + 1);
    this.calls.push({ ...call, denied, history, path });
  }
}

function callBefore(
  server: RedisServer,
  script: string,
  keys: readonly string[],
  args: readonly string[],
): Call {
  const wall = server.clock.wall();
  server.store.now = Math.floor(wall);
  const listeners = server.channels.map(
    (channel) =>
      [channel, server.listenersOf(channel, false), server.listenersOf(channel, true)] as const,
  );
  const info = { server: server.info('server'), replication: server.info('replication') };
  const { isFull } = server;
  const seen = { wall, before: rowsOf(server.store), listeners, info, isFull };
  return { script, keys: [...keys], args: [...args], ...seen, denied: [] };
}

/** Histories of each primitive, with the seeds from 1 on, without Java and beside it. */
export async function recordHistories(recording: Recording, seeds: number): Promise<void> {
  for (let seed = 1; seed <= seeds; seed += 1) {
    for (const [java, primitives] of [[false, PRIMITIVES] as const, [true, SHARED] as const]) {
      for (const primitive of primitives) {
        recording.history = { primitive, seed, java };
        await simulate(planFor(recording.history));
      }
    }
  }
  recording.history = undefined;
}

const DENIED = [
  ...['publish', 'pexpire', 'pubsub', 'del', 'hdel', 'zadd', 'zrem', 'set', 'hset', 'rpush'],
  ...['incrby', 'decrby', 'zremrangebyrank', 'hget', 'get', 'pttl', 'exists', 'hexists', 'lindex'],
];
/** No argument may have more digits than the first of these. */
const EDGES = ['9'.repeat(15), `1${'0'.repeat(15)}`, '0', ''];

/** Few have an argument at the edge of those that a script takes. */
function atEdges(args: readonly string[], random: Random): string[] {
  const place = random.chance(0.08) ? random.int(0, args.length) : -1;
  return args.map((arg, i) => (i === place ? random.pick(EDGES) : arg));
}

/** Calls with random arguments, on what calls before have left, and what operators have damaged. */
export async function recordRandomCalls(
  recording: Recording,
  scripts: readonly NamedScript[],
  calls: number,
): Promise<void> {
  const random = new Random('mutation');
  let wall = 1_700_000_000_000;
  const server = new CountingServer({ wall: () => wall, now: () => wall } as never, 'random');
  const deaf = { message: () => undefined };
  for (const channel of CHANNELS) server.subscribe(bytesOf(channel), deaf, false);
  for (let i = 0; i < calls; i += 1) {
    const script = random.pick(scripts);
    const { keys, args: drawn } = callOf(script, random);
    // A guard's command is one that the server knows.
    const args = script.name === 'fencing-guard.write' ? drawn : atEdges(drawn, random);
    recording.denied = random.chance(0.12) ? [random.pick(DENIED)] : [];
    for (const command of recording.denied) server.allow(`-${command}`);
    attempt(() => server.evaluate(script, keys.map(bytesOf), args.map(bytesOf)));
    server.allow('+@all');
    if (random.chance(0.1)) {
      const [name = '', ...words] = damage(keys, random).map(bytesOf);
      attempt(() => server.command(name, words));
    }
    if (random.chance(0.1)) wall += random.pick([1, 30, 500, 4_000, 40_000]);
    if (random.chance(0.02)) server.isFull = random.chance(0.2);
    if (random.chance(0.01)) server.store.clear();
  }
  recording.denied = [];
}

/** A refusal is an outcome, too. */
function attempt(work: () => unknown): void {
  try {
    work();
  } catch {
    // Its effects are what counts.
  }
}
