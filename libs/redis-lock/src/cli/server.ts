import { readFileSync } from 'node:fs';

import { Cluster, Redis, type RedisOptions } from 'ioredis';

import { LockConfigurationError } from '../core/api/errors.js';
import { chooseClient, isCluster } from '../ioredis/redis-client.js';
import { isReply } from '../ioredis/reply-error.js';
import { ask, textOf, UnreachableError, within } from './answers.js';

const CONNECT_MS = 3_000;
const COMMAND_MS = 2_000;

/** The servers that the command line names. */
export interface Target {
  readonly urls: readonly string[];
  readonly isCluster: boolean;
  /** The name of the master, if the urls are those of its sentinels. */
  readonly sentinel: string | undefined;
  /** The file of a certificate authority. */
  readonly ca: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

export interface Node {
  /** Its address, without user and password. */
  readonly name: string;
  readonly client: Redis;
}

/** A single server, the present master of sentinels, or a Cluster. */
export interface Server {
  readonly name: string;
  readonly client: Redis | Cluster;
  /** The keyPrefix of ioredis in the url, which this file removes. */
  readonly refusedPrefix: string | undefined;
}

/**
 * Creates the clients, and connects none.
 * @throws {LockConfigurationError} the locks could not use them
 */
export function serversOf(target: Target): Server[] {
  const { urls } = target;
  for (const url of urls) {
    // Without its options, which are checked below.
    chooseClient(url.replace(/\?.*$/s, ''));
    if (target.ca !== undefined && !url.startsWith('rediss:')) {
      throw new LockConfigurationError('--ca needs a url that begins with rediss://');
    }
  }
  if (target.isCluster) return [clusterOf(target)];
  if (target.sentinel !== undefined) return [masterOf(target, target.sentinel)];
  return urls.map((url) => serverOf(url, target));
}

/** The known masters. */
export function nodesOf({ name, client }: Server): Node[] {
  if (!isCluster(client)) return [{ name, client }];
  return client.nodes('master').map((node) => {
    const { host = '', port = 0 } = node.options;
    return { name: `${host}:${String(port)}`, client: node };
  });
}

/**
 * Resolves when the server has answered.
 * @throws {UnreachableError} it did not answer in a few seconds
 * @throws {ReplyError} it refuses every client, or this user
 */
export async function connect({ name, client }: Server): Promise<void> {
  let trouble: unknown;
  const onTrouble = (error: unknown) => {
    trouble = deepest(error);
  };
  client.on('error', onTrouble);
  try {
    await within(CONNECT_MS + 500, `the connection to ${name}`, client.connect());
    const answer = await ask(client, 'ping');
    if ('refusal' in answer && !answer.refusal.startsWith('NOPERM')) {
      throw Object.assign(new Error(answer.refusal), { name: 'ReplyError' });
    }
    await selectDatabase(client);
    // ioredis 5 reports itself ready before AUTH is refused; then the default user answered.
    if (isReply(trouble)) throw trouble;
  } catch (error) {
    const reason = trouble ?? deepest(error);
    if (isReply(reason)) throw reason;
    if (error instanceof UnreachableError && trouble === undefined) throw error;
    throw new UnreachableError(`no connection to ${name}: ${textOf(reason)}`);
  }
}

/** ioredis continues in database 0 when Redis refuses another one. */
async function selectDatabase(client: Redis | Cluster): Promise<void> {
  if (isCluster(client) || (client.options.db ?? 0) === 0) return;
  await client.select(client.options.db ?? 0);
}

/** A client of a Cluster wraps the error of a node several times. */
function deepest(error: unknown): unknown {
  if (!(error instanceof Object)) return error;
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return lastNodeError === undefined ? error : deepest(lastNodeError);
}

/** One attempt, with a time limit for every step. */
function quick({ username, password }: Target) {
  return {
    ...{ lazyConnect: true, enableReadyCheck: false, maxRetriesPerRequest: 0 },
    disableClientInfo: true,
    ...{ connectTimeout: CONNECT_MS, commandTimeout: COMMAND_MS, disconnectTimeout: 100 },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    replyMapping: 'legacy' as const,
    retryStrategy: () => null,
  };
}

/** A client to the same servers, with the check that ioredis makes by default. */
export function withReadyCheck(client: Redis | Cluster): Redis | Cluster {
  const enableReadyCheck = true;
  if (!isCluster(client)) return client.duplicate({ enableReadyCheck });
  const replyMapping = 'legacy' as const;
  const redisOptions = { ...client.options.redisOptions, enableReadyCheck, replyMapping };
  return client.duplicate([], { enableReadyCheck, redisOptions });
}

function serverOf(url: string, target: Target): Server {
  // The url wins.
  const client = new Redis(url, { ...quick(target), ...tlsOf(target, url) });
  const { keyPrefix = '', host, port, path } = client.options;
  client.options.keyPrefix = '';
  chooseClient(client);
  return {
    name: path ?? `${host ?? ''}:${String(port)}`,
    client,
    refusedPrefix: keyPrefix === '' ? undefined : keyPrefix,
  };
}

function clusterOf(target: Target): Server {
  const [first = ''] = target.urls;
  const nodes = target.urls.map(addressOf);
  const client = new Cluster(nodes, {
    ...{ lazyConnect: true, enableReadyCheck: false, slotsRefreshTimeout: COMMAND_MS },
    clusterRetryStrategy: () => null,
    // The certificate is for the name, and not for the address.
    ...(first.startsWith('rediss:') && {
      dnsLookup: (address: string, found: (error: null, address: string) => void) => {
        found(null, address);
      },
    }),
    redisOptions: { ...quick(target), ...credentialsOf(first), ...tlsOf(target, first) },
  });
  return { name: nodes.map(named).join(','), client, refusedPrefix: undefined };
}

/** The user and the password in a url of a sentinel are for that sentinel. */
function masterOf(target: Target, name: string): Server {
  const [first = ''] = target.urls;
  const { username, password } = credentialsOf(first);
  const sentinels = target.urls.map(addressOf);
  const client = new Redis({
    ...quick(target),
    ...{ sentinels, name, sentinelRetryStrategy: () => null },
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    ...tlsOf(target, first),
    ...(first.startsWith('rediss:') && { enableTLSForSentinelMode: true }),
  });
  const at = `${name}@${sentinels.map(named).join(',')}`;
  return { name: at, client, refusedPrefix: undefined };
}

function named({ host, port }: { host: string; port: number }): string {
  return `${host}:${String(port)}`;
}

function addressOf(url: string): { host: string; port: number } {
  if (url.startsWith('/')) {
    throw new LockConfigurationError('a Cluster and sentinels need urls, not the path of a socket');
  }
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
}

function credentialsOf(url: string): { username?: string; password?: string } {
  const { username, password } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}

function tlsOf({ ca }: Target, url: string): Pick<RedisOptions, 'tls'> {
  if (!url.startsWith('rediss:')) return {};
  return { tls: ca === undefined ? {} : { ca: read(ca) } };
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new LockConfigurationError(`--ca cannot be read: ${textOf(error)}`);
  }
}
