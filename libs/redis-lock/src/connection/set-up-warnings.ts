import { mastersOf, type Client } from './client.js';

const WRITES_LATE =
  'This version of the client writes late, so locks are slower and may expire; ' +
  'the docs name others, under Comparison';

/** Problems of the client, as far as they show by now, as sentences for the operator. */
export function clientWarnings({ route, writesLate }: Client): string[] {
  const far = route.hosts.find(isAway);
  const isPlain = far !== undefined && route.hasPassword && !route.isEncrypted;
  const plain =
    `The password for Redis travels to ${String(far)} in plain text; ` +
    'connect by rediss://, or set the option tls';
  return [...(isPlain ? [plain] : []), ...(writesLate ? [WRITES_LATE] : [])];
}

/** The INFO texts of the servers. */
export function askServers(client: Client): Promise<string[]> {
  return Promise.all(mastersOf(client).map(async (node) => String(await node.send('info'))));
}

/** The run id of a server, which changes with a restart; undefined without one. */
export function runIdIn(info: string | undefined): string | undefined {
  return /^run_id:(\w+)/m.exec(info ?? '')?.[1];
}

/** The problem of a server that evicts locks, from its INFO text. */
export function evictionIn(info: string): string | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
  if (policy === 'noeviction') return undefined;
  return (
    `Redis evicts locks when its memory is full: maxmemory-policy is ${policy}; ` +
    'set it to noeviction, or use a separate server'
  );
}

/** Memory without a limit is never full. */
export function mayEvict(info: string): boolean {
  return !/^maxmemory:0\s/m.test(info);
}

/** Warnings about settings of a server that harm locks, from its INFO text. */
export function warningsIn(info: string): string[] {
  const version = /^redis_version:(\d+)\.(\d+)\.(\d+)/m.exec(info);
  const eviction = evictionIn(info);
  const other = OTHERS.find((name) => new RegExp(name, 'i').test(info));
  return [
    ...(version !== null && isOlder(version.slice(1).map(Number), FIRST_WITH_LPOS)
      ? [
          `This server is compatible with Redis ${version.slice(1).join('.')}; fair locks need 6.0.6 or newer`,
        ]
      : []),
    ...(eviction === undefined ? [] : [eviction]),
    ...(other === undefined ? [] : [`This server is ${other}, on which locks are not tested`]),
  ];
}

/** These servers report a version of Redis, but are not Redis. Valkey counts as Redis. */
const OTHERS = ['Dragonfly', 'KeyDB'];
/** Fair locks need LPOS. */
export const FIRST_WITH_LPOS = [6, 0, 6];

export function isOlder(version: readonly number[], than: readonly number[]): boolean {
  for (const [i, wanted] of than.entries()) {
    const part = version[i] ?? 0;
    if (part !== wanted) return part < wanted;
  }
  return false;
}

function isAway(host: string): boolean {
  return host !== '' && !/^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/i.test(host);
}
