/** Files of this folder: ours, the protocol by hand, and the six libraries that people use instead. */
export const OURS = 'ours';
export const RAW = 'raw';

export const PEERS = [
  'redlock',
  'redis-semaphore',
  'redis-kit-lock',
  'node-redis-warlock',
  'simple-redis-mutex',
  'node-redisson',
];

export const ALL = [OURS, RAW, ...PEERS];

/** All that keep a lock by themselves. */
export const RENEWING = ALL.filter(
  (locker) => !['node-redis-warlock', 'simple-redis-mutex'].includes(locker),
);
