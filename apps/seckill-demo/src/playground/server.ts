import type { Link, WorldServer } from '../../../../libs/world/src/link.js';
import type { World } from '../../../../libs/world/src/world.js';
import { EPOCH_MS } from '../../../../libs/world/src/simulated-process.js';
import type { Clock } from '../../../../libs/redis-lock/src/core/time/clock.js';
import { helperKey } from '../../../../libs/redis-lock/src/core/redis/key-names.js';
import type {
  Command,
  CommandReply,
} from '../../../../libs/redis-lock/src/testing/server/commands/command.js';
import { RedisServer } from '../../../../libs/redis-lock/src/testing/server/redis-server.js';
import type { KeySeen } from '../arena/step.js';

export const LOCK = 'lock';

type Seen = Omit<KeySeen, 'kind' | 'cell'>;

/** The library's Redis in process, at a place of its own in the world. */
export class PlaygroundServer extends RedisServer implements WorldServer {
  readonly stillUntil = 0;
  readonly isUp = true;
  readonly links = new Set<Link>();
  /** Called with each new stock. */
  onStock: (left: number) => void = () => undefined;
  /** Called with the lock after a change other than the passing of its TTL. */
  onLock: (seen: Seen) => void = () => undefined;
  #last = '';

  constructor(private readonly world: World) {
    super({ wall: () => EPOCH_MS + world.now, now: () => world.now } as Clock, 'playground');
  }

  whenInStep(_replicas: number, _ms: number, callback: (have: number) => void): void {
    callback(0);
  }

  override evaluate(...call: Parameters<RedisServer['evaluate']>): CommandReply {
    try {
      return super.evaluate(...call);
    } finally {
      this.#look();
    }
  }

  override commandOf(name: string, args: readonly string[], isFull: boolean): Command {
    const command = super.commandOf(name, args, isFull);
    const left = stockIn(name.toLowerCase(), args);
    if (left === undefined) return command;
    const run: Command['run'] = (...given) => {
      const reply = command.run(...given);
      this.onStock(left);
      return reply;
    };
    return { ...command, run };
  }

  /** Keeps what a key without a TTL shows at the end. */
  get isLockedForGood(): boolean {
    this.store.now = Math.floor(this.clock.wall());
    return this.store.endOf(LOCK) === Infinity;
  }

  #look(): void {
    const { store } = this;
    const fields = this.#fields();
    const queue = [
      ...(store.find(helperKey('redisson_lock_queue', LOCK), 'list') ?? []),
      ...(store.find(helperKey('nestjs_lock_queue', LOCK), 'zset')?.sorted ?? []).map(
        ([name]) => name,
      ),
    ];
    const token = store.find(helperKey('redisson_lock_token', LOCK), 'string')?.text;
    const endsAt = store.endOf(LOCK) ?? Infinity;
    const text = JSON.stringify([fields, queue, token, endsAt]);
    if (text === this.#last) return;
    this.#last = text;
    this.onLock({
      name: LOCK,
      queue,
      ...(fields !== undefined && { fields }),
      ...(endsAt !== Infinity && { ttlMs: endsAt - EPOCH_MS - this.world.now }),
      ...(token !== undefined && { token }),
    });
  }

  #fields(): Readonly<Record<string, string>> | undefined {
    const type = this.store.typeOf(LOCK);
    if (type === 'string') return { '': this.store.find(LOCK, 'string')?.text ?? '' };
    return type === 'hash' ? Object.fromEntries(this.store.find(LOCK, 'hash') ?? []) : undefined;
  }
}

/** The new stock, if the command writes one. */
function stockIn(command: string, [key, first, second]: readonly string[]): number | undefined {
  if (command === 'set' && key === 'stock') return Number(first);
  return command === 'hset' && key === 'sale' && first === 'stock' ? Number(second) : undefined;
}
