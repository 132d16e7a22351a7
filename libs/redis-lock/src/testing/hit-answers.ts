import { HIT, type Hit } from '../integrations/throttler/hits.scripts.js';
import { answer, type Answer } from './answers.js';
import { Value } from './in-process-server.js';

/** The requests of one visitor that still count, by the end of each. */
class Hits extends Value {
  readonly ends = new Map<string, number>();
  windowEndsAt = 0;
  blockEndsAt = 0;

  forget(now: number, isServed: boolean): void {
    for (const [request, end] of this.ends) {
      if (isServed || end <= now) this.ends.delete(request);
    }
  }
}

export const HIT_ANSWERS: readonly Answer[] = [
  answer(HIT, undefined, (server, { keys, texts, numbers: { ttlMs, limit, blockMs } }): Hit => {
    const { now } = server;
    const hits = server.findOr(keys.hits, Hits, () => new Hits());
    const isBlocked = blockMs > 0 && hits.blockEndsAt > now;
    // After a block the count begins anew.
    hits.forget(now, blockMs > 0 && hits.blockEndsAt > 0 && !isBlocked);
    if (hits.windowEndsAt <= now) hits.windowEndsAt = now + ttlMs;
    if (hits.blockEndsAt <= now) hits.blockEndsAt = 0;
    const expiresInMs = hits.windowEndsAt - now;
    const totalHits = hits.ends.size + 1;
    if (!isBlocked && hits.ends.size < limit) {
      hits.ends.set(texts.request, now + ttlMs);
      return { totalHits, expiresInMs, isBlocked: false, blockExpiresInMs: 0 };
    }
    if (blockMs > 0 && !isBlocked) hits.blockEndsAt = now + blockMs;
    const [next = hits.windowEndsAt] = [...hits.ends.values()].sort((one, other) => one - other);
    const blockEndsAt = blockMs > 0 ? hits.blockEndsAt : next;
    return { totalHits, expiresInMs, isBlocked: true, blockExpiresInMs: blockEndsAt - now };
  }),
];
