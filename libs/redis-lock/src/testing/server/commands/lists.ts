import { CommandError } from '../store.js';
import { ANY, grows, rangeOf, reads, wholeOf, writes, type Command } from './command.js';
import { unknown } from '../unknown.js';

export const LISTS: Readonly<Record<string, Command>> = {
  llen: reads(1, 1, (store, [key = '']) => store.find(key, 'list')?.length ?? 0),
  lindex: reads(2, 2, (store, [key = '', at]) => store.find(key, 'list')?.at(wholeOf(at)) ?? null),
  lrange: reads(3, 3, (store, [key = '', from, to]) => rangeOf(from, to)(store.find(key, 'list'))),
  lpos: reads(2, ANY, (store, [key = '', item = '', ...options]) => {
    const [option = 'rank', rank = '1'] = options;
    const isRank = option.toLowerCase() === 'rank' && options.length !== 1 && options.length < 3;
    const place = isRank ? wholeOf(rank) : 0;
    if (place === 0) unknown('such options of LPOS');
    const list = store.find(key, 'list') ?? [];
    const places = [...list.keys()].filter((at) => list[at] === item);
    return places.at(place > 0 ? place - 1 : place) ?? null;
  }),
  rpush: grows(2, ANY, (store, [key = '', ...items]) =>
    store.findOr(key, 'list', () => []).push(...items),
  ),
  lpop: writes(1, 2, (store, [key = '', ...options]) => {
    if (options.length > 0) unknown('count of LPOP');
    const list = store.find(key, 'list');
    const item = list?.shift();
    store.dropIfEmpty(key, list?.length ?? 1);
    return item ?? null;
  }),
  linsert: grows(4, 4, (store, [key = '', where = '', pivot = '', item = '']) => {
    if (!/^(before|after)$/i.test(where)) throw new CommandError('ERR syntax error');
    const list = store.find(key, 'list');
    if (list === undefined) return 0;
    const at = list.indexOf(pivot);
    if (at === -1) return -1;
    list.splice(where.toLowerCase() === 'before' ? at : at + 1, 0, item);
    return list.length;
  }),
  lrem: writes(3, 3, (store, [key = '', count, item = '']) => {
    const most = wholeOf(count);
    const list = store.find(key, 'list');
    if (list === undefined) return 0;
    const places = [...list.keys()].filter((at) => list[at] === item);
    const removed = most === 0 ? places : most > 0 ? places.slice(0, most) : places.slice(most);
    for (const at of removed.toReversed()) list.splice(at, 1);
    store.dropIfEmpty(key, list.length);
    return removed.length;
  }),
};
