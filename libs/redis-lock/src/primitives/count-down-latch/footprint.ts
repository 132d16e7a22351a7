import type { RedisConnection } from '../../core/redis/connection.js';
import { prefixOf, type Footprint } from '../../core/redis/key-names.js';

const CHANNEL = 'redisson_countdownlatch__channel__';
/** The marker of a request that Redis has executed. */
export const REQUEST = 'nestjs_latch_request';

export const LATCH_FOOTPRINT = {
  commands: ['decr', 'del', 'get', 'set'],
  keys: [prefixOf(REQUEST)],
  channels: [CHANNEL],
} satisfies Footprint;

/**
 * Redisson also adds braces to a name with its own hash tag. In a Cluster that is another slot,
 * where Redis refuses Redisson's scripts. Only there, the channel belongs to this library alone.
 */
export function channelOf(connection: RedisConnection, latch: string): string {
  const redissons = `${CHANNEL}{${latch}}`;
  const isTogether = connection.place(redissons).slot === connection.place(latch).slot;
  return isTogether ? redissons : CHANNEL + latch;
}
