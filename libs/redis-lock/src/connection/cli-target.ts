import { readFileSync } from 'node:fs';

import { LockConfigurationError } from '../core/api/errors.js';
import type { Client } from './client.js';

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

/** A single server, the present master of sentinels, or a Cluster. */
export interface Server {
  readonly name: string;
  readonly client: Client;
  /** The keyPrefix of ioredis that the url has, and the client has not. */
  readonly refusedPrefix: string | undefined;
  /** Another client. One of ioredis makes the check that it makes by default. */
  checked(): Client;
}

export function named({ host, port }: { host: string; port: number }): string {
  return `${host}:${String(port)}`;
}

/** The name of a Cluster, or of sentinels. */
export function listed(nodes: readonly { host: string; port: number }[]): string {
  return nodes.map(named).join(',');
}

/** The user of the command line, for the servers that have the locks. */
export function loginOf({ username, password }: Target): { username?: string; password?: string } {
  return {
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

export function addressOf(url: string): { host: string; port: number } {
  if (url.startsWith('/')) {
    throw new LockConfigurationError('a Cluster and sentinels need urls, not the path of a socket');
  }
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) };
}

export function credentialsOf(url: string): { username?: string; password?: string } {
  const { username, password } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
  };
}

/** The options of a TLS connection; undefined if the url wants none. */
export function tlsOf({ ca }: Target, url: string): { readonly ca?: Buffer } | undefined {
  if (!url.startsWith('rediss:')) return undefined;
  return ca === undefined ? {} : { ca: read(ca) };
}

function read(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new LockConfigurationError(`--ca cannot be read: ${(error as Error).message}`);
  }
}
