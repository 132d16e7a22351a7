import { grows, ANY, writes, type Command } from './command.js';

export const SETS: Readonly<Record<string, Command>> = {
  sadd: grows(2, ANY, (store, [key = '', ...members]) => {
    const set = store.findOr(key, 'set', () => new Set());
    const before = set.size;
    for (const member of members) set.add(member);
    return set.size - before;
  }),
  srem: writes(2, ANY, (store, [key = '', ...members]) => store.remove(key, 'set', members)),
};
