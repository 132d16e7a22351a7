import { broughtChoice } from '../connection/brought-client.js';
import type { Client } from '../connection/client.js';
import {
  addressOf,
  credentialsOf,
  listed,
  loginOf,
  named,
  tlsOf,
  type Server,
  type Target,
} from '../connection/cli-target.js';
import { nodeRedis } from './node-redis.js';

/**
 * Creates the clients, and connects none.
 * @throws {LockConfigurationError} the locks could not use them
 */
export function nodeRedisServers(target: Target): Server[] {
  const { urls, sentinel } = target;
  const nodes = () => urls.map(addressOf);
  const all = urls[0] ?? '';
  if (target.isCluster) {
    const options = { rootNodes: urls.map((url) => ({ url })), defaults: optionsOf(target, all) };
    return [over(listed(nodes()), options)];
  }
  if (sentinel !== undefined) {
    const sentinelRootNodes = nodes();
    // The user and the password in the url of a sentinel are for that sentinel.
    const { socket } = optionsOf(target, all);
    const sentinelClientOptions = { socket, ...credentialsOf(all) };
    const name = `${sentinel}@${listed(sentinelRootNodes)}`;
    const nodeClientOptions = optionsOf(target, all, {});
    const options = { sentinelRootNodes, sentinelClientOptions, nodeClientOptions };
    return [over(name, { name: sentinel, ...options })];
  }
  return urls.map((url) => serverOf(url, target));
}

function serverOf(url: string, target: Target): Server {
  const options = optionsOf(target, url, {});
  if (url.startsWith('/')) return over(url, { socket: { path: url }, ...options });
  // The url wins.
  return over(named(addressOf(url)), { url, ...options });
}

function optionsOf(
  target: Target,
  url: string,
  credentials = credentialsOf(url),
): object & { socket?: object } {
  const tls = tlsOf(target, url);
  return {
    ...loginOf(target),
    ...credentials,
    ...(tls !== undefined && { socket: { tls: true, ...tls } }),
  };
}

function over(name: string, options: object): Server {
  const open = () => broughtChoice(nodeRedis(options))?.client as Client;
  return { name, client: open(), refusedPrefix: undefined, checked: open };
}
