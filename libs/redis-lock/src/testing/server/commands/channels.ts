import { ANY, reads, type Command } from './command.js';
import { unknown } from '../unknown.js';

export const SERVER: Readonly<Record<string, Command>> = {
  time: reads(0, 0, (_store, _args, { micros }) => [
    String(Math.floor(micros / 1e6)),
    String(micros % 1e6),
  ]),
  info: reads(0, ANY, (_store, [section = 'all'], server) => server.info(section.toLowerCase())),
  publish: reads(2, 2, (_store, [channel = '', message = ''], server) =>
    server.publish(channel, message, false),
  ),
  spublish: reads(2, 2, (_store, [channel = '', message = ''], server) =>
    server.publish(channel, message, true),
  ),
  pubsub: reads(1, ANY, (_store, [command = '', ...channels], server) => {
    const isSharded = command.toLowerCase() === 'shardnumsub';
    if (!isSharded && command.toLowerCase() !== 'numsub') unknown(`PUBSUB ${command}`);
    return channels.flatMap((channel) => [channel, server.listenersOf(channel, isSharded)]);
  }),
};
