/** Files of this folder: ours, the protocol by hand, and the six libraries that people use instead. */
export const OURS = 'ours';
export const RAW = 'raw';

const PEERS = [
  'redlock',
  'redis-semaphore',
  'redis-kit-lock',
  'node-redis-warlock',
  'simple-redis-mutex',
  'node-redisson',
];

export const ALL = [OURS, RAW, ...PEERS];

/** @param {string} locker a file of this folder, such as that of another lock of a peer */
export const isPeer = (locker) => PEERS.some((peer) => locker.startsWith(peer));

/** All that keep a lock by themselves. */
export const RENEWING = ALL.filter(
  (locker) => !['node-redis-warlock', 'simple-redis-mutex'].includes(locker),
);

/** Lockers from elsewhere lock as `raw` does, and take part where it does. */
export const withOutsiders = ({ lockers, reference }, outsiders) =>
  reference === RAW ? [...lockers, ...outsiders] : lockers;
