import { helperKey, prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_sc';
/** Where a request notes that it was executed. */
export const REQUEST = 'nestjs_semaphore_request';

export const COUNTING_SEMAPHORE_FOOTPRINT = {
  commands: ['decrby', 'del', 'get', 'incrby', 'set'],
  keys: [prefixOf(REQUEST)],
  channels: [prefixOf(CHANNEL)],
} satisfies Footprint;

/** An increase of the counter is announced here. */
export function channelOf(counter: string): string {
  return helperKey(CHANNEL, counter);
}
