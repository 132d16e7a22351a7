import { CommandError, type Store } from '../store.js';
import {
  ANY,
  grows,
  LARGEST,
  OK,
  reads,
  Status,
  wholeOf,
  writes,
  type Command,
} from './command.js';
import { unknown } from '../unknown.js';

export const KEYS: Readonly<Record<string, Command>> = {
  exists: reads(1, ANY, (store, keys) => keys.filter((key) => store.typeOf(key)).length),
  type: reads(1, 1, (store, [key = '']) => new Status(store.typeOf(key) ?? 'none')),
  keys: reads(1, 1, (store, [pattern]) =>
    pattern === '*' ? store.keys : unknown('such pattern of KEYS'),
  ),
  del: writes(1, ANY, (store, keys) => keys.filter((key) => store.delete(key)).length),
  pttl: reads(1, 1, (store, [key = '']) => {
    const end = store.endOf(key);
    if (end === undefined) return -2;
    return end === Infinity ? -1 : end - store.now;
  }),
  pexpire: writes(2, ANY, (store, [key = '', ms, ...options]) => {
    if (options.length > 0) unknown('options of PEXPIRE');
    return Number(store.expire(key, endIn(store, wholeOf(ms), 'pexpire')));
  }),
  rename: writes(2, 2, (store, [key = '', to = '']) => {
    if (!store.rename(key, to)) throw new CommandError('ERR no such key');
    return OK;
  }),
};

export const STRINGS: Readonly<Record<string, Command>> = {
  get: reads(1, 1, (store, [key = '']) => store.find(key, 'string')?.text ?? null),
  set: grows(2, ANY, (store, [key = '', text = '', ...options]) => {
    let endsAt: number | undefined;
    let exists: boolean | undefined;
    while (options.length > 0) {
      const option = options.shift()?.toLowerCase() ?? '';
      const endOf = ENDS.get(option);
      if (endOf !== undefined && options.length > 0 && endsAt === undefined) {
        endsAt = endOf(store, durationOf(options.shift()));
      } else if (option === 'keepttl' && endsAt === undefined) {
        endsAt = store.endOf(key) ?? Infinity;
      } else if ((option === 'nx' || option === 'xx') && exists === undefined) {
        exists = option === 'xx';
      } else unknown(`such options of SET: ${option}`);
    }
    if (exists !== undefined && exists !== (store.typeOf(key) !== undefined)) return null;
    store.put(key, 'string', { text }, endsAt);
    if ((endsAt ?? Infinity) <= store.now) store.delete(key);
    return OK;
  }),
  incrby: grows(2, 2, (store, [key = '', by]) => addTo(store, key, integerOf(by))),
  decrby: grows(2, 2, (store, [key = '', by]) => addTo(store, key, -integerOf(by))),
  decr: grows(1, 1, (store, [key = '']) => addTo(store, key, -1n)),
  incr: grows(1, 1, (store, [key = '']) => addTo(store, key, 1n)),
};

function endIn(store: Store, ms: number, command: string): number {
  if (ms < Number(LARGEST) - store.now) return store.now + ms;
  throw new CommandError(`ERR invalid expire time in '${command}' command`);
}

/** When a key ends, by the option of SET and its number. */
const ENDS = new Map<string, (store: Store, value: number) => number>([
  ['px', (store, ms) => endIn(store, ms, 'set')],
  ['ex', (store, seconds) => endIn(store, seconds * 1_000, 'set')],
  ['pxat', (_, ms) => ms],
  ['exat', (_, seconds) => seconds * 1_000],
]);

function durationOf(text: string | undefined): number {
  const ms = wholeOf(text);
  if (ms <= 0) throw new CommandError("ERR invalid expire time in 'set' command");
  return ms;
}

/** Unlike `wholeOf`, it loses no digit. */
function integerOf(text = ''): bigint {
  wholeOf(text);
  return BigInt(text);
}

function addTo(store: Store, key: string, by: bigint): number {
  if (by === LARGEST) unknown('such decrement');
  const sum = integerOf(store.find(key, 'string')?.text ?? '0') + by;
  if (BigInt.asIntN(64, sum) !== sum)
    throw new CommandError('ERR increment or decrement would overflow');
  const text = String(sum);
  store.findOr(key, 'string', () => ({ text })).text = text;
  return Number(sum);
}
