import type { Cluster, Redis } from 'ioredis';

import { outOfScope } from '../core/time/clock.js';
import { isCluster } from './redis-client.js';

const BEAT_MS = 1_000;
/** A connection counts as half open when Redis has not answered a command for 3 beats. */
const SILENT_BEATS = 3;

/** A client with a `socketTimeout` watches itself. */
export function watchOver(
  client: Redis | Cluster,
  onSilence: (error: Error) => void,
): AnswerWatch | undefined {
  if (isCluster(client) || client.options.socketTimeout !== undefined) return undefined;
  return new AnswerWatch(client, onSilence);
}

/**
 * Finds a half-open connection within 4 s, and connects anew. ioredis' own `socketTimeout` sets two
 * timers for every command. This watch beats once a second, and only while there are commands.
 */
export class AnswerWatch {
  #owed = 0;
  /** Beats since the last answer, or since the first command that waits for one. */
  #beats = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly client: Redis,
    private readonly onSilence: (error: Error) => void,
  ) {
    client.on('connect', this.#start);
  }

  sent(): void {
    if (this.#owed++ > 0) return;
    this.#beats = 0;
    if (this.#timer === undefined) this.#start();
  }

  answered(): void {
    this.#owed--;
    this.#beats = 0;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.client.off('connect', this.#start);
  }

  readonly #start = (): void => {
    this.#beats = 0;
    this.#timer ??= outOfScope(() => setInterval(this.#beat, BEAT_MS)).unref();
  };

  readonly #beat = (): void => {
    const { status } = this.client;
    this.#beats++;
    // ioredis sends commands of its own before it is ready, and waits without a limit for their
    // answers.
    if (status === 'connect' || (status === 'ready' && this.#owed > 0)) {
      if (this.#beats <= SILENT_BEATS) return;
      this.#beats = 0;
      this.onSilence(new Error('Redis has not answered for 3 s'));
      this.client.disconnect(true);
    } else if (this.#owed === 0 && this.#beats > SILENT_BEATS) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  };
}
