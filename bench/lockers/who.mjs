/** Files of this folder: ours, also over node-redis, the protocol by hand, and six other libraries. */
export const OURS = 'ours';
export const OVER_NODE_REDIS = 'our-node-redis';
export const RAW = 'raw';

const PEERS = [
  'redlock',
  'redis-semaphore',
  'redis-kit-lock',
  'node-redis-warlock',
  'simple-redis-mutex',
  'node-redisson',
];

/** The first is ours, and the second the reference. */
export const ALL = [OURS, RAW, OVER_NODE_REDIS, ...PEERS];

/** @param {string} locker a file of this folder, also of another lock of a peer */
export const isPeer = (locker) => PEERS.some((peer) => locker.startsWith(peer));

/** The lockers that renew their locks. */
export const RENEWING = ALL.filter(
  (locker) => !['node-redis-warlock', 'simple-redis-mutex'].includes(locker),
);

/** Lockers from outside the bench take part in the scenarios of `raw`. */
export const withOutsiders = ({ lockers, reference }, outsiders) =>
  reference === RAW ? [...lockers, ...outsiders] : lockers;
