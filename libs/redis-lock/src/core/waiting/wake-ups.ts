import { queueMicrotask, type Clock, type Timer } from '../time/clock.js';
import type { Channels } from './contender.js';
import { SHORTER } from '../lua/outsiders.js';
import { outOfScope } from '../holding/scope.js';
import type { ChannelListener, RedisConnection } from '../redis/connection.js';

/** For so long those behind a holder of their own process trust that they are told by that. */
const MOMENT_MS = 50;

/** That a lock is free. */
const FREE = '0';

export interface QueueListener {
  /** It may be worth to ask. */
  hint(): void;
  granted(payload: string): void;
}

/** What the callers of one key hear while they wait. */
export class QueueMessages {
  /** Whether grants arrive: a claim before that would be passed over. */
  hearsGrants = false;
  #isHinting = false;
  #later: Timer | undefined;
  #stops: (() => void)[] | undefined;

  constructor(
    private readonly connection: RedisConnection,
    private readonly clock: Clock,
    private readonly channels: Channels,
    private readonly listener: QueueListener,
  ) {}

  get isListening(): boolean {
    return this.#stops !== undefined;
  }

  /** Somebody here has it, who tells the others of this process in another way. */
  expect(): void {
    this.#later ??= outOfScope(() =>
      this.clock.after(MOMENT_MS, () => {
        this.listen();
      }),
    );
  }

  /** Somebody elsewhere has it. */
  listen(): void {
    if (this.#stops !== undefined) return;
    const { wakeUp, nodes, handOff } = this.channels;
    const isShared = handOff?.grants === wakeUp;
    const grants: ChannelListener = {
      message: (payload) => {
        if (isShared && payload === FREE) this.#hint();
        else this.listener.granted(payload);
      },
      confirmed: () => {
        this.hearsGrants = true;
        this.#hint();
      },
    };
    // First, and last to leave: else others would take this process for an outsider.
    // Each with a listener of its own: a reader and a writer of one lock listen here both.
    const silent: ChannelListener = { message: () => undefined, confirmed: () => undefined };
    this.#stops = nodes === undefined ? [] : [this.connection.listen(nodes, silent)];
    if (!isShared) {
      const wakeUps: ChannelListener = {
        // Those in line know who has it.
        message: (payload) => {
          if (payload !== SHORTER) this.#hint();
        },
        confirmed: () => {
          this.#hint();
        },
      };
      this.#stops.push(this.connection.listen(wakeUp, wakeUps));
    }
    if (handOff !== undefined) this.#stops.push(this.connection.listen(handOff.grants, grants));
  }

  stop(): void {
    this.clock.cancel(this.#later);
    for (const stop of this.#stops?.reverse() ?? []) stop();
    this.#stops = [];
  }

  /** Once for all that is heard in one go. */
  #hint(): void {
    if (this.#isHinting) return;
    this.#isHinting = true;
    queueMicrotask(() => {
      this.#isHinting = false;
      this.listener.hint();
    });
  }
}
