import type { Fault, FaultProxy } from '../../support/fault-proxy.js';
import type { ProxiedConnection } from '../../support/proxied-connection.js';
import type { RedisFixture } from '../../support/redis-server.js';
import type { HistoryRecord, Taking } from './contest-history.js';
import type { FaultKind, PlannedFault } from './fault-schedule.js';
import type { Fleet } from './fleet.js';
import { nowUs } from './history.js';
import { queueDeadProcess } from './queue-faults.js';
import { forge, forgeGrants, repeatMessages } from './message-faults.js';
import { ArmedFaults, comeAfterConnection, WAYS_TO_CUT, type WayToCut } from './network-faults.js';
import { pause } from './pace.js';

export interface Arena {
  readonly redis: RedisFixture;
  /** Ways to Redis: on the second one requests may come after their connection. */
  readonly proxies: readonly [FaultProxy, FaultProxy];
  readonly fleet: Fleet;
  /** The lock that all callers want comes first. */
  readonly locks: readonly string[];
  readonly note: (record: HistoryRecord) => void;
}

interface Victim {
  readonly proxy: FaultProxy;
  readonly connection: ProxiedConnection;
}

/** Resolves when it is over. Only some of them are waited for before the next fault. */
type Inject = (fault: PlannedFault) => Promise<void> | undefined;

const TAKE = `
local owners = {}
for _, key in ipairs(KEYS) do
  for _, owner in ipairs(redis.call('hkeys', key)) do
    owners[#owners + 1] = key
    owners[#owners + 1] = owner
  end
end
if ARGV[1] == 'all' then
  for _, key in ipairs(redis.call('keys', '*')) do redis.call('del', key) end
else
  redis.call('del', unpack(KEYS))
end
return owners`;

/** Does what the schedule says to whatever there is at that moment. */
export class FaultInjector {
  readonly counts: Partial<Record<FaultKind, number>> = {};
  readonly #armed = new ArmedFaults();
  readonly #going = new Set<Promise<void>>();
  #error: unknown;

  constructor(private readonly arena: Arena) {}

  async inject(fault: PlannedFault): Promise<void> {
    const { kind } = fault;
    this.arena.note({ kind: 'fault', atUs: nowUs(), fault: JSON.stringify(fault) });
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    await this.#ways[kind](fault);
    if (this.#error !== undefined) throw this.#error;
  }

  /** Resolves when all faults are over. */
  async end(): Promise<void> {
    await Promise.all(this.#going);
    await Promise.all(this.arena.proxies.map((proxy) => proxy.heal()));
    if (this.#error !== undefined) throw this.#error;
  }

  readonly #ways: Record<FaultKind, Inject> = {
    reset: (fault) => this.#cut(WAYS_TO_CUT.reset, fault),
    'end of stream': (fault) => this.#cut(WAYS_TO_CUT['end of stream'], fault),
    'client side reset': (fault) => this.#cut(oneSide('client'), fault),
    'server side reset': (fault) => this.#cut(oneSide('server'), fault),
    'lost reply': (fault) => this.#cut(WAYS_TO_CUT['lost reply'], fault),
    'lost request': (fault) => this.#cut(WAYS_TO_CUT['lost request'], fault),
    'request cut in the middle': (fault) =>
      this.#cut(WAYS_TO_CUT['request cut in the middle'], fault),
    'reply cut in the middle': (fault) => this.#cut(WAYS_TO_CUT['reply cut in the middle'], fault),
    'requests come late': (fault) => this.#holdUp('toServer', fault),
    'replies come late': (fault) => this.#holdUp('toClient', fault),
    'requests come after their connection': ({ victim, ms: lateMs }) => {
      const [, proxy] = this.arena.proxies;
      const found = this.#pick(victim, isForCommands, [proxy]);
      if (found === undefined) return;
      const times = { heldMs: 5 + lateMs / 40, lateMs };
      this.#meanwhile(comeAfterConnection(proxy, found.connection, times));
    },
    'black hole': (fault) => this.#swallow('both', fault),
    'half a black hole': (fault) =>
      this.#swallow((fault.victim * 1_000) % 2 < 1 ? 'toServer' : 'toClient', fault),

    'subscribers killed': async () => {
      await this.arena.redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    },
    'subscriber cut': ({ victim }) => {
      const found = this.#pick(victim, ({ subscriber }) => subscriber);
      found?.connection.cut('rst');
    },
    'messages lost': ({ ms }) => {
      const options = { containing: '\r\nmessage\r\n' };
      this.#heal(
        ms,
        this.arena.proxies.map((proxy) => proxy.drop('toClient', options)),
      );
    },
    'messages forged': ({ victim }) => forge(this.arena, victim),
    'messages repeated': ({ ms }) => repeatMessages(this.arena, ms),
    'grants forged': () => forgeGrants(this.arena),

    'scripts flushed': async () => {
      await this.arena.redis.admin.script('FLUSH');
    },
    'server stands still': async ({ ms }) => {
      this.arena.redis.pause();
      await pause(ms);
      this.arena.redis.resume();
    },
    'server loses its data': async () => {
      const { redis } = this.arena;
      const atUs = nowUs();
      await redis.kill();
      // To the next millisecond, in microseconds.
      const largestToken = (Date.now() + 1) * 1_000;
      await redis.start();
      this.#noteTaken({ lock: '*', owner: '*', atUs, largestToken });
    },
    'keys deleted': () => this.#take(this.arena.locks, 'all'),
    'lock deleted': () => this.#take(this.arena.locks.slice(0, 1)),
    'dead process in the queue': async ({ ms }) => {
      const { redis, locks } = this.arena;
      for (const lock of locks.slice(0, 1)) await queueDeadProcess(redis, lock, ms);
    },

    'process killed': ({ victim }) => {
      this.#meanwhile(this.arena.fleet.kill(victim));
    },
    'process stands still': ({ victim, ms }) => {
      this.#meanwhile(this.arena.fleet.standStill(victim, ms));
    },
    'process leaves': ({ victim }) => {
      this.#meanwhile(this.arena.fleet.retire(victim));
    },
  };

  #pick(
    victim: number,
    isMeant: (connection: ProxiedConnection) => boolean = () => true,
    proxies: readonly FaultProxy[] = this.arena.proxies,
  ): Victim | undefined {
    const victims = proxies.flatMap((proxy) =>
      proxy.connections.filter(isMeant).map((connection) => ({ proxy, connection })),
    );
    return victims[Math.floor(victim * victims.length)];
  }

  #cut({ cut }: WayToCut, { kind, victim, bytes }: PlannedFault): undefined {
    const found = this.#pick(victim, kind === 'lost reply' ? isForCommands : undefined);
    if (found === undefined) return;
    this.#armed.add(cut(found.proxy, (connection) => connection === found.connection, bytes));
  }

  #holdUp(direction: 'toServer' | 'toClient', { victim, ms }: PlannedFault): undefined {
    const found = this.#pick(victim);
    if (found === undefined) return;
    const where = (connection: ProxiedConnection) => connection === found.connection;
    this.#heal(ms, [found.proxy.hold(direction, { where })]);
  }

  /** It ends with the connection: nothing may go on behind a gap. */
  #swallow(direction: 'toServer' | 'toClient' | 'both', { victim, ms }: PlannedFault): undefined {
    const found = this.#pick(victim);
    if (found === undefined) return;
    const where = (connection: ProxiedConnection) => connection === found.connection;
    const hole = found.proxy.blackhole(direction, { where });
    const ends = pause(ms).then(() => {
      found.connection.cut('rst');
      hole.heal();
    });
    this.#meanwhile(ends);
  }

  #heal(ms: number, faults: readonly Fault[]): undefined {
    const heal = () => {
      for (const fault of faults) fault.heal();
    };
    this.#meanwhile(pause(ms).then(heal));
  }

  async #take(locks: readonly string[], what = 'these'): Promise<void> {
    const { redis } = this.arena;
    const atUs = nowUs();
    const owners = (await redis.admin.eval(TAKE, locks.length, ...locks, what)) as string[];
    for (let i = 0; i < owners.length; i += 2) {
      const [lock = '', owner = ''] = owners.slice(i);
      this.#noteTaken({ lock, owner, atUs });
    }
  }

  #noteTaken(taking: Omit<Taking, 'kind' | 'untilUs'>): void {
    this.arena.note({ kind: 'taken', ...taking, untilUs: nowUs() });
  }

  #meanwhile(work: Promise<unknown>): undefined {
    const going: Promise<void> = work.then(
      () => {
        this.#going.delete(going);
      },
      (error: unknown) => {
        this.#error ??= error;
      },
    );
    this.#going.add(going);
  }
}

const isForCommands = ({ subscriber }: ProxiedConnection) => !subscriber;

function oneSide(side: 'client' | 'server'): WayToCut {
  return { cut: (proxy, where) => proxy.cut({ where, kind: 'rst', side }) };
}
