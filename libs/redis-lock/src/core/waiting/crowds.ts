import { ByKey } from './by-key.js';

/** The waiters of one key that have a queue each. Each owner has an entry in Redis' queue. */
export interface Crowd {
  /** The ids of their queues, in the order of arrival. */
  readonly ids: Set<string>;
}

export class Crowds {
  private readonly all = new ByKey<Crowd>();

  get(key: string): Crowd | undefined {
    return this.all.get(key);
  }

  /** The queue whose waiter came first. */
  firstOf(key: string): string | undefined {
    return this.all.get(key)?.ids.values().next().value;
  }

  add(key: string, id: string): void {
    const crowd = this.all.get(key);
    if (crowd === undefined) this.all.add(key, { ids: new Set([id]) });
    else crowd.ids.add(id);
  }

  delete(key: string, id: string): void {
    const ids = this.all.get(key)?.ids;
    ids?.delete(id);
    if (ids?.size === 0) this.all.delete(key);
  }
}
