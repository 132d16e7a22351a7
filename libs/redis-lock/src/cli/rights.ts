import type { NodeClient } from '../connection/client.js';
import { channelOf } from '../primitives/lock/footprint.js';
import { answerOf, within } from './answers.js';
import { fail, ok, warn, type Finding } from './finding.js';
import { COMMANDS, needsOf, type Need } from './permissions.js';

const CHECK = 'permissions';
const CONNECT_MS = 4_000;

type Group = keyof typeof COMMANDS;

/** The effect of a group of missing rights. */
const LOST: Readonly<Record<Exclude<Group, 'locks'>, string>> = {
  messages: 'waiters are not notified, and find out by polling',
  java: 'Java services that wait have a chance once a second',
  replicas: 'minReplicas cannot be used',
  identity: 'red locks cannot be used, and ioredis prints a warning',
  database: 'the database of the url cannot be used',
  cluster: 'the nodes and messages of the Cluster are not fully available',
  names: 'ioredis tries anyway, and the server logs it (ACL LOG)',
};

/** The commands, keys and channels that the server refused. */
interface Refused {
  readonly commands: Set<string>;
  readonly unknown: Set<string>;
  readonly keys: Set<string>;
  readonly channels: Set<string>;
}

export interface Trial {
  /** A key that does not exist. */
  readonly key: string;
  /** A hash that is held during the trial; undefined when it was not acquired. */
  readonly held: string | undefined;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
}

/**
 * Tries every command, key and channel that the locks need, and changes nothing. An allowed command
 * fails for another reason, or does nothing. So this needs no right to read the ACL.
 */
export async function tryRights(client: NodeClient, trial: Trial): Promise<Finding[]> {
  const refused: Refused = {
    ...{ commands: new Set(), unknown: new Set(), keys: new Set(), channels: new Set() },
  };
  const { key, keyPrefix } = trial;
  const needs = needsOf(key, keyPrefix);
  const commands = groupsFor(client, trial).flatMap((group) => COMMANDS[group]);
  const calls = commands.flatMap((command): Promise<void>[] => {
    const args = argumentsOf(command, trial);
    return args === undefined ? [] : [attempt(client, command, args, refused)];
  });
  for (const [pattern, sample] of new Map(needs.flatMap(({ keys }) => [...keys]))) {
    // One command that reads and one that writes: a rule may allow only one of both.
    for (const command of ['pttl', 'del']) {
      calls.push(attempt(client, command, [sample], refused, { keys: pattern }));
    }
  }
  const channels = new Map(needs.flatMap((need) => [...need.channels]));
  for (const [pattern, channel] of channels) {
    calls.push(attempt(client, 'publish', [channel, ''], refused, { channels: pattern }));
  }
  await Promise.all(calls);
  await tryListening(client, channels, trial, refused);
  const { user } = client.route;
  return judge(needs, refused, user === '' ? 'default' : user, trial);
}

function groupsFor(client: NodeClient, { isCluster }: Trial): Group[] {
  const database = client.database;
  return [
    ...(['locks', 'messages', 'java', 'replicas', 'identity'] as const),
    ...(database === 0 ? [] : (['database'] as const)),
    ...(isCluster ? (['cluster', 'names'] as const) : []),
  ];
}

function attempt(
  client: NodeClient,
  command: string,
  args: readonly (string | number)[],
  refused: Refused,
  pattern?: Pattern,
): Promise<void> {
  const [name = '', ...sub] = command.split('|');
  return judgeAnswer(command, client.send(name, ...sub, ...args), refused, pattern);
}

interface Pattern {
  readonly keys?: string;
  readonly channels?: string;
}

async function judgeAnswer(
  command: string,
  sent: Promise<unknown>,
  refused: Refused,
  pattern: Pattern = {},
): Promise<void> {
  const answer = await answerOf(command, sent);
  if (!('refusal' in answer)) return;
  const { refusal } = answer;
  if (/^ERR unknown (sub)?command/i.test(refusal)) refused.unknown.add(command);
  if (!refusal.startsWith('NOPERM')) return;
  if (/access .*channel/i.test(refusal)) {
    if (pattern.channels !== undefined) refused.channels.add(pattern.channels);
  } else if (/access .*key/i.test(refusal)) {
    if (pattern.keys !== undefined) refused.keys.add(pattern.keys);
  } else refused.commands.add(command);
}

/** On a connection of its own: a subscribed one may not send other commands. */
async function tryListening(
  client: NodeClient,
  channels: ReadonlyMap<string, string>,
  { isCluster, key }: Trial,
  refused: Refused,
): Promise<void> {
  const listener = client.another('messages');
  listener.on('failed', () => undefined);
  try {
    await within(CONNECT_MS, 'a second connection', listener.connect());
    for (const [pattern, channel] of channels) {
      const sent = listener.subscribe('plain', [channel]);
      await judgeAnswer('subscribe', sent, refused, { channels: pattern });
    }
    const all = [...channels.values()];
    await judgeAnswer('unsubscribe', listener.unsubscribe('plain', all), refused);
    if (!isCluster) return;
    const own = [channelOf(key)];
    await judgeAnswer('ssubscribe', listener.subscribe('sharded', own), refused);
    await judgeAnswer('sunsubscribe', listener.unsubscribe('sharded', own), refused);
  } finally {
    listener.end();
  }
}

/**
 * As few arguments as the command accepts, and none with which it writes. Undefined if there are
 * none, or if another connection tries the command.
 */
function argumentsOf(
  command: string,
  { key, held }: Trial,
): readonly (string | number)[] | undefined {
  // Redis checks rights before the type. A hash is no number and no list.
  if (command === 'decr') return held === undefined ? undefined : [held];
  if (command === 'rpush') return held === undefined ? undefined : [held, ''];
  if (command === 'publish' || command.includes('subscribe')) return undefined;
  const [, args] = SAFE.find(([commands]) => commands.split(' ').includes(command)) ?? [];
  return args?.(key) ?? [key];
}

const NO_SCRIPT = '0'.repeat(40);

/**
 * Commands that need more than a key. Redis refuses those that write: an argument is wrong, or
 * superfluous.
 */
const SAFE: readonly (readonly [commands: string, args: (key: string) => (string | number)[]])[] = [
  ['time ping cluster|slots cluster|info pubsub|numsub pubsub|shardnumsub', () => []],
  ['asking', () => []],
  ['hget hmget hexists hdel lpos zrem zscore', (key) => [key, '']],
  ['lrange zcount zrange zremrangebyrank zremrangebyscore', (key) => [key, 0, 0]],
  ['incrby decrby pexpire', (key) => [key, 'none']],
  ['eval', () => ['return 1', 0]],
  ['evalsha', () => [NO_SCRIPT, 0]],
  ['info', () => ['server']],
  ['wait', () => [0, 1]],
  ['select', () => ['none']],
  ['client|setname', () => ['doctor']],
  ['spublish', (key) => [channelOf(key), '']],
  ['rename', (key) => [key, key]],
  ['set', (key) => [key, '', 'none']],
  ['hset', (key) => [key, '', '', 'odd']],
  ['lindex', (key) => [key, 0]],
  ['linsert', (key) => [key, 'none', '', '']],
  ['lrem', (key) => [key, 0, '']],
  ['zadd', (key) => [key, 'none', '']],
];

const OTHERS = [
  'messages',
  'java',
  'replicas',
  'identity',
  'database',
  'cluster',
  'names',
] as const;

function judge(needs: readonly Need[], refused: Refused, user: string, trial: Trial): Finding[] {
  const leftOut = leftOutBy(needs, refused);
  const lack = lackOf(
    needs.filter((need) => !leftOut.includes(need)),
    refused,
  );
  const findings: Finding[] = [];
  const report = (group: Group, commands: readonly string[], reach: Reach) => {
    const unknown = COMMANDS[group].filter((command) => refused.unknown.has(command));
    const lacks = [
      ...said('may not run', commands),
      ...said('may not use keys like', reach.keys ?? []),
      ...said('may not use channels like', reach.channels ?? []),
    ];
    if (lacks.length > 0) {
      const found = `the user ${user} ${lacks.join('; ')}`;
      findings.push(verdict(group, found, `ACL SETUSER ${user} ${rule(commands, reach)}`));
    }
    if (unknown.length > 0) {
      const fix = 'use a server that has these commands; some providers disable them';
      findings.push(verdict(group, `the server does not know ${unknown.join(', ')}`, fix));
    }
  };
  report('locks', lack.commands, { keys: lack.keys });
  for (const group of OTHERS) {
    const commands = COMMANDS[group].filter((command) => refused.commands.has(command));
    report(group, commands, group === 'messages' ? { channels: lack.channels } : {});
  }
  if (leftOut.length > 0) {
    const names = leftOut.map(({ name }) => name).join(', ');
    const { commands, ...reach } = lackOf(leftOut, refused);
    const fix = `to use them: ACL SETUSER ${user} ${rule(commands, reach)}`;
    findings.push(warn(CHECK, `the user ${user} has no keys of ${names}`, fix));
  }
  if (findings.length > 0) return findings;
  const untried = trial.held === undefined ? '; decr, rpush and sadd could not be tried' : '';
  return [ok(CHECK, `the user ${user} has every permission that the locks need${untried}`)];
}

/**
 * The needs that lack only their own keys, while every right for a lock is there. Rules leave out
 * unused features.
 */
function leftOutBy(needs: readonly Need[], refused: Refused): Need[] {
  const lock = needs.filter(({ name }) => name === 'LockService');
  const { commands, keys } = lackOf(lock, refused);
  if (commands.length + keys.length > 0) return [];
  return needs.filter((need) => {
    const others = needs.filter((other) => other !== need);
    const own = [...need.keys.keys()].filter((key) => !others.some((other) => other.keys.has(key)));
    return own.length > 0 && own.every((key) => refused.keys.has(key));
  });
}

interface Lack extends Required<Reach> {
  readonly commands: readonly string[];
}

function lackOf(needs: readonly Need[], refused: Refused): Lack {
  const ofCommands = new Set(needs.flatMap(({ commands }) => commands));
  const ofKeys = new Set(needs.flatMap(({ keys }) => [...keys.keys()]));
  const ofChannels = new Set(needs.flatMap(({ channels }) => [...channels.keys()]));
  return {
    commands: COMMANDS.locks.filter((one) => ofCommands.has(one) && refused.commands.has(one)),
    keys: [...refused.keys].filter((key) => ofKeys.has(key)),
    channels: [...refused.channels].filter((channel) => ofChannels.has(channel)),
  };
}

interface Reach {
  readonly keys?: readonly string[];
  readonly channels?: readonly string[];
}

function said(what: string, list: readonly string[]): string[] {
  return list.length === 0 ? [] : [`${what} ${list.join(', ')}`];
}

function rule(commands: readonly string[], { keys = [], channels = [] }: Reach): string {
  return [
    ...commands.map((command) => `+${command}`),
    ...keys.map((pattern) => `~${pattern}`),
    ...channels.map((pattern) => `&${pattern}`),
  ].join(' ');
}

function verdict(group: Group, found: string, fix: string): Finding {
  if (group === 'locks') return fail(CHECK, `${found}: locks fail`, fix);
  return warn(CHECK, `${found}: ${LOST[group]}`, fix);
}
