import { general } from '../lua/values.js';
import { CommandError, SortedSet, type Store } from '../store.js';
import {
  ANY,
  grows,
  rangeOf,
  reads,
  scoreOf,
  writes,
  type Command,
  type CommandReply,
} from './command.js';
import { unknown } from '../unknown.js';

export const SORTED_SETS: Readonly<Record<string, Command>> = {
  zcard: reads(1, 1, (store, [key = '']) => store.find(key, 'zset')?.size ?? 0),
  zscore: reads(2, 2, (store, [key = '', member = '']) => {
    const score = store.find(key, 'zset')?.get(member);
    return score === undefined ? null : scoreText(score);
  }),
  zcount: reads(3, 3, (store, [key = '', least, most]) => {
    const isWithin = between(least, most);
    return (store.find(key, 'zset')?.sorted ?? []).filter(isWithin).length;
  }),
  zrange: reads(3, ANY, (store, [key = '', from, to, ...options]) => {
    const [option] = options;
    if (options.length > 1 || (option !== undefined && option.toLowerCase() !== 'withscores')) {
      unknown('such options of ZRANGE');
    }
    const found = rangeOf(from, to)(store.find(key, 'zset')?.sorted);
    return found.flatMap(([member, score]) =>
      option === undefined ? [member] : [member, scoreText(score)],
    );
  }),
  zadd: grows(3, ANY, add),
  zrem: writes(2, ANY, (store, [key = '', ...members]) => store.remove(key, 'zset', members)),
  zpopmin: writes(1, 2, (store, [key = '', ...options]) => {
    if (options.length > 0) unknown('count of ZPOPMIN');
    const [first] = store.find(key, 'zset')?.sorted ?? [];
    if (first === undefined) return [];
    remove(store, key, [first]);
    return [first[0], scoreText(first[1])];
  }),
  zremrangebyscore: writes(3, 3, (store, [key = '', least, most]) => {
    const isWithin = between(least, most);
    const found = (store.find(key, 'zset')?.sorted ?? []).filter(isWithin);
    return remove(store, key, found);
  }),
  zremrangebyrank: writes(3, 3, (store, [key = '', from, to]) => {
    const found = rangeOf(from, to)(store.find(key, 'zset')?.sorted);
    return remove(store, key, found);
  }),
};

/** As Redis 7 writes a score. */
function scoreText(score: number): string {
  return general(score, 17);
}

export function between(least = '', most = ''): (entry: readonly [string, number]) => boolean {
  // Nothing is 0, and spaces in front of a number are left out.
  const bound = (text: string) =>
    scoreOf(
      text.replace(/^\(/, '').replace(/^[ \t-\r]+(?=[^])/, '') || '0',
      'min or max is not a float',
    );
  const [from, to] = [bound(least), bound(most)];
  const [isAbove, isBelow] = [least.startsWith('('), most.startsWith('(')];
  return ([, score]) =>
    (isAbove ? score > from : score >= from) && (isBelow ? score < to : score <= to);
}

function remove(store: Store, key: string, entries: SortedSet['sorted']): number {
  return store.remove(
    key,
    'zset',
    entries.map(([member]) => member),
  );
}

const FLAGS = ['nx', 'xx', 'lt', 'gt', 'ch', 'incr'];

function add(store: Store, [key = '', ...args]: readonly string[]): CommandReply {
  const flags = new Set<string>();
  while (FLAGS.includes(args[0]?.toLowerCase() ?? ''))
    flags.add((args.shift() ?? '').toLowerCase());
  const isIncrement = flags.has('incr');
  const isMixed = (flags.has('nx') && flags.size > 1) || (isIncrement && args.length > 2);
  if (flags.has('gt') || flags.has('ch') || isMixed) unknown('such options of ZADD');
  if (args.length === 0 || args.length % 2 === 1) throw new CommandError('ERR syntax error');
  const scores = args.flatMap((text, i) =>
    // Redis keeps no -0.
    i % 2 === 0 ? [[args[i + 1] ?? '', scoreOf(text) + 0] as const] : [],
  );
  const found = store.find(key, 'zset');
  if (found === undefined && flags.has('xx')) return isIncrement ? null : 0;
  const set = found ?? store.findOr(key, 'zset', () => new SortedSet());
  const before = set.size;
  for (const [member, score] of scores) {
    const old = set.get(member);
    const next = isIncrement ? (old ?? 0) + score : score;
    if (Number.isNaN(next)) unknown('sum of inf and -inf');
    const isRefused =
      old === undefined ? flags.has('xx') : flags.has('nx') || (flags.has('lt') && next >= old);
    if (!isRefused) set.set(member, next);
    if (isIncrement) return isRefused ? null : scoreText(next);
  }
  return set.size - before;
}
