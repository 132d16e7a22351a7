import type { Link, WorldServer } from '../../../../libs/world/src/link.js';
import type { World } from '../../../../libs/world/src/world.js';
import { EPOCH_MS } from '../../../../libs/world/src/simulated-process.js';
import type { Clock } from '../../../../libs/redis-lock/src/core/time/clock.js';
import type { ScriptText } from '../../../../libs/redis-lock/src/core/redis/script.js';
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
  /** Called with each command of a caller, once it has run. */
  onCommand: (caller: string, words: readonly string[], reply: CommandReply) => void = () =>
    undefined;
  /** Called with the lock after a change other than the passing of its TTL. */
  onLock: (seen: Seen) => void = () => undefined;
  #last = '';
  #caller: string | undefined;

  constructor(private readonly world: World) {
    super({ wall: () => EPOCH_MS + world.now, now: () => world.now } as Clock, 'playground');
  }

  whenInStep(_replicas: number, _ms: number, callback: (have: number) => void): void {
    callback(0);
  }

  override evaluate(
    script: ScriptText & { readonly caller?: string },
    ...call: [keys: readonly string[], args: readonly string[]]
  ): CommandReply {
    this.#caller = script.caller;
    try {
      return super.evaluate(script, ...call);
    } finally {
      this.#caller = undefined;
      this.#look();
    }
  }

  override commandOf(name: string, args: readonly string[], isFull: boolean): Command {
    const command = super.commandOf(name, args, isFull);
    const caller = this.#caller;
    if (caller === undefined) return command;
    const run: Command['run'] = (...given) => {
      const reply = command.run(...given);
      this.onCommand(caller, [name.toLowerCase(), ...args], reply);
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
