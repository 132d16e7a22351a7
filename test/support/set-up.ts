/** Most specs begin with these imports. */
export { useWorkers, type Worker } from './child.js';
export { eventually } from './eventually.js';
export {
  ENDLESS,
  expectNothingLeft,
  untilQueued,
  useClients,
  useLocks,
  useProxiedClients,
  useProxy,
  useRealClients,
  type LockClient,
} from './lock-client.js';
export { seededRandom, type Random } from './random.js';
export { RedisFixture, useRealRedis, useRedis } from './redis-server.js';
export { channelOf, FOREIGN_OWNER, redisson } from './redisson.js';
export { Stopwatch } from './stopwatch.js';
export { Gate, PROMPT_MS, roundTrips, Section, watch } from '../contract/suite.js';
