import { createHash } from 'node:crypto';

import type { Redis } from 'ioredis';

import type { RedisConnection, Reply } from '../../../libs/redis-lock/src/core/redis/connection.js';
import { PassThrough } from '../../support/pass-through.js';
import type { Script } from '../../../libs/redis-lock/src/core/redis/script.js';
import { inOrder } from '../../support/in-order.js';

const RECORD = 'record';
const GIVEN = 'remove(waiter, place, 1, record)';

/** Lua texts of each script, each with what Redis writes down beside it. */
const STEPS: Readonly<Record<string, [text: string, note: string, owner: string][]>> = {
  'fair.acquire': [
    [`redis.call('rpush', queue, owner)`, 'queued', 'owner'],
    [`redis.call('hset', lock, owner, '1')\nlocal expiry`, 'granted', 'owner'],
  ],
  'fair.release': [[GIVEN, 'granted', 'waiter']],
  'fair.pass': [[GIVEN, 'granted', 'waiter']],
  'fair.cancel': [[GIVEN, 'granted', 'waiter']],
};

/** Lets Redis itself write down who enters the queue and who gets the lock, in its own order. */
export class RecordingConnection extends PassThrough {
  constructor(
    inner: RedisConnection,
    /** For how long a waiter counts as alive. */
    private readonly aliveMs: number,
  ) {
    super(inner);
  }

  override run<K extends string, A extends string, R>(
    script: Script<K, A, R>,
    keys: readonly string[],
    args: readonly (string | number)[],
    minReplicas?: number,
  ): Promise<Reply<R>> {
    if (script.name !== 'fair.acquire') return super.run(script, keys, args, minReplicas);
    const changed = inOrder<string | number>(script.args, args).map((value, i) =>
      script.args[i] === 'aliveMs' ? this.aliveMs : value,
    );
    return super.run(script, keys, changed, minReplicas);
  }

  protected override patch<S extends { name: string; lua: string; sha1: string }>(script: S): S {
    let { lua } = script;
    for (const [text, note, owner] of STEPS[script.name] ?? []) {
      if (!lua.includes(text)) throw new Error(`${script.name} has no ${text}`);
      lua = lua.replace(
        text,
        `redis.call('rpush', '${RECORD}', '${note} ' .. lock .. ' ' .. ${owner})\n${text}`,
      );
    }
    return { ...script, lua, sha1: createHash('sha1').update(lua).digest('hex') };
  }
}

export interface Verdict {
  grants: number;
  /** Grants to owners that had waited. */
  handOffs: number;
  /** Owners that got the lock after an owner that had come later. */
  overtakes: string[];
  /** Entries of owners that had been thrown out, or had lost their place. */
  again: number;
}

export async function verdictOf(redis: Redis): Promise<Verdict> {
  const verdict: Verdict = { grants: 0, handOffs: 0, overtakes: [], again: 0 };
  const arrivals = new Map<string, number>();
  /** By lock: the latest arrival among those who have got it. */
  const latest = new Map<string, number>();
  for (const [at, line] of (await redis.lrange(RECORD, 0, -1)).entries()) {
    const [step, lock = '', owner = ''] = line.split(' ');
    const arrival = arrivals.get(owner);
    if (step === 'queued') {
      if (arrival !== undefined) verdict.again += 1;
      arrivals.set(owner, at);
      continue;
    }
    verdict.grants += 1;
    if (arrival !== undefined) verdict.handOffs += 1;
    const before = latest.get(lock) ?? -1;
    const arrivedAt = arrival ?? at;
    if (arrivedAt < before) verdict.overtakes.push(`${lock}: line ${String(at)}`);
    else latest.set(lock, arrivedAt);
  }
  return verdict;
}
