/** Lock channels: an unlock wakes one waiter, the unlock of a writer wakes all. */
const byUnlock = (payload) => (payload === '1' ? Infinity : 1);

/**
 * Waits as Redisson does, with one subscription for each channel and process. `howMany` is the number of
 * waiters that a message wakes.
 */
export class Wakeups {
  #subscriber;
  /** @type {Map<string, Line>} */
  #lines = new Map();

  /**
   * @param {import('ioredis').Redis} subscriber
   * @param {(payload: string) => number} howMany the number of waiters that a message wakes
   */
  constructor(subscriber, howMany = byUnlock) {
    this.#subscriber = subscriber;
    subscriber.on('message', (channel, payload) => {
      this.#lines.get(channel)?.wake(howMany(payload));
    });
  }

  /**
   * @param {string} channel
   * @param {() => Promise<unknown>} attempt resolves with null, or with the rest of the lease
   */
  async untilGranted(channel, attempt) {
    if ((await attempt()) === null) return;
    const line = this.#join(channel);
    try {
      await line.subscribed;
      for (let ttl = await attempt(); ttl !== null; ttl = await attempt()) {
        await line.wait(Number(ttl));
      }
    } finally {
      this.#leave(channel, line);
    }
  }

  #join(channel) {
    let line = this.#lines.get(channel);
    if (!line) {
      line = new Line(this.#subscriber.subscribe(channel));
      this.#lines.set(channel, line);
    }
    line.members += 1;
    return line;
  }

  #leave(channel, line) {
    line.members -= 1;
    if (line.members > 0) return;
    this.#lines.delete(channel);
    void this.#subscriber.unsubscribe(channel);
  }
}

/** The waiters of one channel. If no waiter is parked, the line keeps a message for the next one. */
class Line {
  members = 0;
  #parked = [];
  #isOneKept = false;

  constructor(subscribed) {
    this.subscribed = subscribed;
  }

  wake(howMany) {
    this.#isOneKept = this.#parked.length === 0;
    for (const wake of this.#parked.splice(0, howMany)) wake();
  }

  wait(ttlMs) {
    if (this.#isOneKept) {
      this.#isOneKept = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
      const timer = setTimeout(() => {
        this.#parked.splice(this.#parked.indexOf(wake), 1);
        resolve(undefined);
      }, ttlMs);
      this.#parked.push(wake);
    });
  }
}
