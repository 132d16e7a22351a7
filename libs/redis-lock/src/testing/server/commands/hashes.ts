import { CommandError } from '../store.js';
import { ANY, grows, reads, writes, type Command } from './command.js';

export const HASHES: Readonly<Record<string, Command>> = {
  hget: reads(2, 2, (store, [key = '', field = '']) => store.find(key, 'hash')?.get(field) ?? null),
  hmget: reads(2, ANY, (store, [key = '', ...fields]) => {
    const hash = store.find(key, 'hash');
    return fields.map((field) => hash?.get(field) ?? null);
  }),
  hexists: reads(2, 2, (store, [key = '', field = '']) =>
    Number(store.find(key, 'hash')?.has(field) ?? false),
  ),
  hlen: reads(1, 1, (store, [key = '']) => store.find(key, 'hash')?.size ?? 0),
  hkeys: reads(1, 1, (store, [key = '']) => [...(store.find(key, 'hash')?.keys() ?? [])]),
  hgetall: reads(1, 1, (store, [key = '']) => [...(store.find(key, 'hash') ?? [])].flat()),
  hset: grows(3, ANY, (store, [key = '', ...pairs]) => {
    if (pairs.length % 2 === 1) {
      throw new CommandError("ERR wrong number of arguments for 'hset' command");
    }
    const hash = store.findOr(key, 'hash', () => new Map());
    const before = hash.size;
    for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i] ?? '', pairs[i + 1] ?? '');
    return hash.size - before;
  }),
  hdel: writes(2, ANY, (store, [key = '', ...fields]) => store.remove(key, 'hash', fields)),
};
