import {
  ANY,
  grows,
  OK,
  reads,
  scoreOf,
  wholeOf,
  writes,
  type Command,
} from '../../../libs/redis-lock/src/testing/server/commands/command.js';
import { between } from '../../../libs/redis-lock/src/testing/server/commands/sorted-sets.js';
import {
  SortedSet,
  type Store,
  type TypeName,
} from '../../../libs/redis-lock/src/testing/server/store.js';

/** No script of the library uses these, but specs do, and Redisson. */
export const COMMANDS_OF_SPECS: Readonly<Record<string, Command>> = {
  ping: reads(0, 1, (_, [text]) => text ?? 'PONG'),
  echo: reads(1, 1, (_, [text = '']) => text),
  dbsize: reads(0, 0, (store) => store.keys.length),
  flushall: writes(0, 1, (store) => {
    store.clear();
    return OK;
  }),
  keys: reads(1, 1, (store, [pattern = '']) => {
    const matches = patternOf(pattern);
    return store.keys.filter((key) => matches.test(key));
  }),
  ttl: reads(1, 1, (store, [key = '']) => {
    const end = store.endOf(key);
    if (end === undefined) return -2;
    return end === Infinity ? -1 : Math.round((end - store.now) / 1_000);
  }),
  expire: writes(2, 2, (store, [key = '', seconds]) =>
    Number(store.expire(key, store.now + 1_000 * wholeOf(seconds))),
  ),
  pexpireat: writes(2, 2, (store, [key = '', at]) => Number(store.expire(key, wholeOf(at)))),
  persist: writes(1, 1, (store, [key = '']) => {
    const hadEnd = (store.endOf(key) ?? Infinity) !== Infinity;
    return Number(hadEnd && store.expire(key, Infinity));
  }),
  mget: reads(1, ANY, (store, keys) =>
    keys.map((key) =>
      store.typeOf(key) === 'string' ? (store.find(key, 'string')?.text ?? null) : null,
    ),
  ),
  hvals: reads(1, 1, (store, [key = '']) => [...(store.find(key, 'hash')?.values() ?? [])]),
  hincrby: grows(3, 3, (store, [key = '', field = '', by]) => {
    const hash = store.findOr(key, 'hash', () => new Map<string, string>());
    const sum = wholeOf(hash.get(field) ?? '0') + wholeOf(by);
    hash.set(field, String(sum));
    return sum;
  }),
  lpush: grows(2, ANY, (store, [key = '', ...items]) =>
    store.findOr(key, 'list', () => []).unshift(...items.reverse()),
  ),
  zincrby: grows(3, 3, (store, [key = '', by, member = '']) => {
    const set = store.findOr(key, 'zset', () => new SortedSet());
    const sum = (set.get(member) ?? 0) + scoreOf(by);
    set.set(member, sum);
    return String(sum);
  }),
  zrangebyscore: reads(3, 6, (store, [key = '', least, most, , from = '0', count = '-1']) => {
    const sorted = store.find(key, 'zset')?.sorted ?? [];
    const found = sorted.filter(between(least, most)).map(([member]) => member);
    return found.slice(wholeOf(from)).slice(0, count === '-1' ? undefined : wholeOf(count));
  }),
  /** A type that is none of ours. */
  xadd: grows(4, ANY, (store, [key = '', id = '']) => {
    store.put(key, 'stream' as TypeName, {} as never);
    return id;
  }),
  /** The value byte by byte; no client can read it back. */
  dump: reads(1, 1, (store, [key = '']) => dumpOf(store, key)),
};

/** As Redis matches keys and channels. */
export function patternOf(pattern: string): RegExp {
  const source = pattern
    .replace(/[\\^$.+()|{}]/g, '\\$&')
    .replace(/\*/g, '[^]*')
    .replace(/\?/g, '[^]');
  return new RegExp(`^${source}$`);
}

function dumpOf(store: Store, key: string): string | null {
  const type = store.typeOf(key);
  if (type === undefined) return null;
  const value = store.find(key, type);
  if (type === 'hash' || type === 'set') return JSON.stringify([...(value as Set<unknown>)]);
  if (type === 'zset') return JSON.stringify((value as { sorted: unknown }).sorted);
  return JSON.stringify(value);
}
