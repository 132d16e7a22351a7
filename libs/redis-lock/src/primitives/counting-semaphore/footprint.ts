import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_sc';
/** The marker of a request that Redis has executed. */
export const REQUEST = 'nestjs_semaphore_request';

export const COUNTING_SEMAPHORE_FOOTPRINT = {
  commands: ['decrby', 'del', 'get', 'incrby', 'set'],
  keys: [prefixOf(REQUEST)],
  channels: [prefixOf(CHANNEL)],
} satisfies Footprint;

/** The channel that announces an increase of the counter. */
export function channelOf(counter: string): string {
  return helperKey(CHANNEL, counter);
}
