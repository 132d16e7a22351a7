import { isBrought } from '../connection/brought-client.js';
import { describeValue, LockConfigurationError } from '../core/api/errors.js';
import { hasMethods, isPlainObject } from '../core/api/shapes.js';
import type { RedisOptions } from './own-client.js';

/** The options of `createClient`, `createCluster` or `createSentinel`. */
export interface Options extends RedisOptions {
  /** Options of a Cluster. */
  readonly rootNodes?: readonly RedisOptions[];
  readonly defaults?: RedisOptions;
  /** Options of a sentinel. */
  readonly name?: string;
  readonly sentinelRootNodes?: readonly { readonly host?: string }[];
  readonly nodeClientOptions?: RedisOptions;
  readonly sentinelClientOptions?: RedisOptions;
}

/** Options of ioredis, which node-redis would ignore: it would connect to another server. */
const ELSEWHERE = new Map([
  ['host', 'its host belongs under socket: { host }'],
  ['port', 'its port belongs under socket: { port }'],
  ['path', 'its path belongs under socket: { path }'],
  ['tls', 'its tls belongs under socket: { tls: true }'],
  ['db', 'its db is called database'],
  ['sentinels', 'its sentinels are called sentinelRootNodes'],
]);

/** @throws {LockConfigurationError} it is neither a client that fits nor an object of options */
export function refuseOthers(source: unknown): asserts source is Options {
  if (source === undefined)
    refuse('it needs a client, or options: is an environment variable missing?');
  if (isBrought(source)) refuse('it is the result of nodeRedis() already');
  if (hasMethods(source, 'evalsha', 'duplicate')) {
    refuse('it is a client of ioredis; pass it as connection, without nodeRedis()');
  }
  if (hasMethods(source, 'execute', 'sendCommand')) {
    refuse('it is a pool of clients; pass a client of createClient()');
  }
  if (hasMethods(source, 'sendCommand', 'duplicate', 'disconnect')) {
    refuse('it is from node-redis 4 or older; install redis 5 or 6');
  }
  if (hasMethods(source, 'sendCommand')) {
    refuse('it is a legacy client; pass the client on which you called legacy()');
  }
  if (isPlainObject(source) && !hasMethods(source, 'then')) return;
  // A text may be a url with a password.
  const what = typeof source === 'string' ? 'a text; write { url }' : describeValue(source);
  refuse(`it needs a client of createClient(), or its options, not ${what}`);
}

/** @throws {LockConfigurationError} these options lead elsewhere */
export function refuseMistaken(options: Options): void {
  for (const [name, problem] of ELSEWHERE) if (name in options) refuse(problem);
  const { url, database, name, rootNodes, sentinelRootNodes } = options;
  if (url !== undefined && !/^(rediss?|unix):\/\//.test(url)) {
    refuse('its url must begin with redis:// or rediss://');
  }
  if (database !== undefined && !(Number.isInteger(database) && database >= 0)) {
    refuse(`its database must be a whole number from 0 on, not ${describeValue(database)}`);
  }
  for (const [list, nodes] of Object.entries({ rootNodes, sentinelRootNodes })) {
    if (nodes === undefined || (Array.isArray(nodes) && nodes.length > 0)) continue;
    refuse(`its ${list} must be a list of one address or more`);
  }
  // node-redis would lock at 127.0.0.1, also if one of these names is misspelt.
  if (!(rootNodes ?? sentinelRootNodes ?? [options]).every(namesServer)) {
    refuse(
      'it names no server by url, socket: { host } or a list of nodes: ' +
        'is an environment variable missing?',
    );
  }
  if (sentinelRootNodes !== undefined && !name) {
    refuse("its sentinels need the name of their master, such as name: 'mymaster'");
  }
}

/** @throws {LockConfigurationError} locks cannot work with them, in a client or in options */
export function refuseUnusable({ keyPrefix, readonly: reads, database, ...rest }: Options): void {
  const { rootNodes, defaults, nodeClientOptions } = rest;
  if ([keyPrefix, defaults?.keyPrefix, nodeClientOptions?.keyPrefix].some(Boolean)) {
    refuse(
      'its keyPrefix changes the keys but not the channels; set keyPrefix of the locks. ' +
        'A client can be copied without it: client.duplicate({ keyPrefix: undefined })',
    );
  }
  if (reads === true) refuse('it reads from a replica; connect to the master');
  if (rootNodes !== undefined && (database ?? defaults?.database ?? 0) !== 0) {
    refuse('a Cluster has only database 0; remove its database');
  }
}

function namesServer({ url, host, socket }: RedisOptions & { readonly host?: string }): boolean {
  return Boolean(url ?? host ?? socket?.path ?? socket?.host);
}

function refuse(problem: string): never {
  throw new LockConfigurationError(`nodeRedis(): ${problem}`);
}
