import type { FencingGuard } from 'nestjs-redis-lock/core';
import type { Random } from '../support/random.js';

/** A call of a script, or a command of another client. */
export interface Call {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

export interface NamedScript {
  readonly name: string;
  readonly lua: string;
  readonly sha1: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const PROCESSES = ['a', 'b', 'c'].map(
  (letter) => `${letter.repeat(8)}-0000-4000-8000-000000000000`,
);
const OWNERS = PROCESSES.flatMap((process) => [1, 2, -3].map((n) => `${process}:${String(n)}`));
const IDS = [1, 2, 3].map((n) => `${'0'.repeat(31)}${String(n)}`).concat('fe80ff'.padEnd(32, '9'));
const LEASES = ['1', '40', '500', '4000', '30000'];
/** A lock of the library may have any of these, and its wake-up channel. */
const FAMILIES = ['lock', 'fair', '读写', 'semaphore', 'count', 'guard'] as const;
type Family = (typeof FAMILIES)[number];

const FAMILY_OF: readonly (readonly [RegExp, Family])[] = [
  [/^(lock|hash-lock|fencing-token|red-lock|ping|client|monitor)\b/, 'lock'],
  [/^fair/, 'fair'],
  [/^(read|write)/, '读写'],
  [/^semaphore/, 'semaphore'],
  [/^(counting-semaphore|latch|once-only)/, 'count'],
  [/^(fencing-guard|throttler)/, 'guard'],
];

/** The monitor has names of its own for the keys of other locks. */
const ALIASES: Readonly<Record<string, readonly [Family, string]>> = {
  ...{ fairQueue: ['fair', 'queue'], fairTimeouts: ['fair', 'timeouts'] },
  ...{ fairWaiting: ['fair', 'waiting'], writeQueue: ['读写', 'queue'] },
  ...{ writeClaims: ['读写', 'claims'], turn: ['读写', 'turn'], writers: ['读写', 'writers'] },
  ...{ readers: ['读写', 'readers'], mark: ['semaphore', 'waiting'] },
};

const keyOf = (family: Family, name: string) =>
  name === 'prefix' ? `{${family}}:` : `{${family}}${name}`;

/** The channels on which a specs' connection listens: those of two processes of three. */
export const CHANNELS = FAMILIES.flatMap((family) => [
  `ch:${family}`,
  `ch:${family}:nodes`,
  ...PROCESSES.slice(0, 2).map((process) => `${keyOf(family, 'queue')}:${process}`),
  ...OWNERS.slice(0, 6).map((owner) => `ch:${family}:${owner}`),
]);

const some = (random: Random, texts: readonly string[]) =>
  Array.from({ length: random.int(1, 2) }, () => random.pick(texts)).join(',');

type GuardedCommand = Parameters<FencingGuard['write']>[2];

const item = (random: Random) => `v${String(random.int(1, 3))}`;

/** The further arguments of each command that a guard takes. */
const WRITES: Readonly<Record<GuardedCommand, (random: Random) => string[]>> = {
  set: (random) => [
    item(random),
    ...random.pick([[], ['nx'], ['XX']]),
    // An end that is ahead, in wall time, would differ: only scripts see the time of the pair.
    ...random.pick([[], ['ex', '2'], ['px', '300'], ['KEEPTTL'], ['exat', '1'], ['pxat', '1']]),
  ],
  del: () => [],
  hset: (random) => [item(random), item(random)],
  hdel: (random) => [item(random), item(random)],
  sadd: (random) => [item(random), item(random)],
  srem: (random) => [item(random)],
};

/** A value for an argument of this name. */
const ARGUMENTS: Readonly<Record<string, (random: Random, family: Family) => string>> = {
  owner: (random) => random.pick(OWNERS),
  successor: (random) => random.pick(OWNERS),
  companion: (random) => (random.chance(0.5) ? '' : random.pick(OWNERS)),
  field: (random) => random.pick(OWNERS) + (random.chance(0.5) ? ':write' : ''),
  owners: (random) => `${random.pick(OWNERS)} ${random.pick(OWNERS)}`,
  process: (random) => random.pick(PROCESSES),
  leaseMs: (random) => random.pick(LEASES),
  keepMs: (random) => random.pick(['20', '300', '3000']),
  holdCount: (random) => random.pick(['1', '1', '2', '3', '0']),
  starts: (random) => random.pick(['0', '1']),
  channel: (_, family) => `ch:${family}`,
  channelPrefix: (_, family) => `ch:${family}:`,
  claim: (random) =>
    `${random.pick(['200', '5000', '30000'])} ${random.pick(['0', '900', '20000'])} ` +
    `${random.pick(['0', '3', '12'])} ${nonce(random)} ${random.pick(['300', '3000', '9000'])} ${random.pick(['s', 'e', 'p'])}`,
  terms: (random) =>
    random.chance(0.4)
      ? ''
      : `${nonce(random)} ${random.pick(['300', '3000'])} ${random.pick(['s', 'e'])}`,
  due: (random) => random.pick(['0', '1', '3', '1000']),
  waitMs: (random) => random.pick(['0', '500', '10000']),
  aliveMs: (random) => random.pick(['100', '5000']),
  askedAt: (random) => String(random.int(0, 1_000_000)),
  memoryMs: (random) => random.pick(['0', '200', '3000']),
  tokenTtlMs: (random) => random.pick(['0', '1000', '604800000']),
  ttlMs: (random) => random.pick(['50', '1000', '60000']),
  fenceTtlMs: (random) => random.pick(['50', '60000']),
  markerTtlMs: (random) => random.pick(['50', '60000']),
  markMs: (random) => random.pick(['0', '100', '3000']),
  blockMs: (random) => random.pick(['0', '500']),
  limit: (random) => random.pick(['1', '3']),
  request: (random) => random.pick(IDS),
  ofAll: (random) => random.pick(['0', '2', '3']),
  capacity: (random) => random.pick(['0', '2', '3']),
  permits: (random, family) =>
    family === 'semaphore' ? some(random, IDS) : random.pick(['1', '2', '3', '0']),
  count: (random) => random.pick(['1', '2', '3']),
  more: (random) => random.pick(['0', '1', '2']),
  fewer: (random) => random.pick(['0', '1', '2']),
  onlyIfExists: (random) => random.pick(['0', '1']),
  most: (random) => random.pick(['1', '2', '100']),
  token: (random) => String(random.int(1, 50)),
  fence: (random) => String(random.int(1, 50) * 1_000),
  command: (random) => random.pick(Object.keys(WRITES)),
};

/** Where a name means something else. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'semaphore.add permits': ['1', '-1', '2', '0'],
  'semaphore.set permits': ['1', '2', '3'],
  'semaphore.try-set permits': ['1', '2', '3'],
  'semaphore.restore permits': ['1', '2'],
  'semaphore.release-permits permits': ['1', '2'],
};

/** Scripts of any number of keys. */
const MANY: Readonly<Record<string, (random: Random) => Call>> = {
  'hash-lock.renew': (random) => ({
    keys: [keyOf('lock', 'lock'), keyOf('fair', 'lock')],
    args: [random.pick(OWNERS), random.pick(OWNERS), random.pick(LEASES)],
  }),
  'read-lock.renew': (random) => ({
    keys: [keyOf('读写', 'lock'), keyOf('读写', 'prefix')],
    args: [random.pick(OWNERS), random.pick(LEASES)],
  }),
  'semaphore.renew': (random) => ({
    keys: [keyOf('semaphore', 'leases')],
    args: [some(random, IDS), random.pick(LEASES)],
  }),
  'once-only.forget': (random) => ({
    keys: [markerOf('count', random), markerOf('count', random)],
    args: [],
  }),
  'red-lock.identify': () => ({ keys: [], args: [] }),
};

/** Versions of Redis write larger numbers in two ways. */
const JUNK = ['', 'x', '-1', '1.5', '9'.repeat(16), 'nil', '1e3', ' 7', '锁'];

/** A random call of a script. Few have an argument that makes no sense. */
export function callOf(script: NamedScript, random: Random): Call {
  const many = MANY[script.name];
  if (many !== undefined) return many(random);
  const family = familyOf(script.name);
  const keys = script.keys.map((name) => {
    if (name === 'marker') return markerOf(family, random);
    const [of, key] = ALIASES[name] ?? [family, name];
    return keyOf(of, key);
  });
  const args = script.args.map((name) => {
    // The server in process refuses a command that it does not know.
    if (name !== 'command' && random.chance(0.02)) return random.pick(JUNK);
    const among = EXCEPTIONS[`${script.name} ${name}`];
    if (among !== undefined) return random.pick(among);
    const make = ARGUMENTS[name];
    if (make === undefined) throw new Error(`${script.name} has a new argument: ${name}`);
    return make(random, family);
  });
  if (script.name !== 'fencing-guard.write') return { keys, args };
  const command = args.at(-1) as GuardedCommand;
  return { keys, args: [...args, ...WRITES[command](random)] };
}

function familyOf(name: string): Family {
  const found = FAMILY_OF.find(([pattern]) => pattern.test(name));
  if (found === undefined) throw new Error(`The script ${name} belongs to no family of keys`);
  return found[1];
}

function nonce(random: Random): string {
  return random
    .int(0, 2 ** 31)
    .toString(16)
    .padStart(32, '0');
}

function markerOf(family: Family, random: Random): string {
  return `{${family}}marker:${String(random.int(1, 20))}`;
}

/** A command of an operator or of an outsider: it damages what the scripts work with. */
export function damage(keys: readonly string[], random: Random): readonly string[] {
  const key = keys.length === 0 ? 'k' : random.pick(keys);
  const text = random.pick([...JUNK, '3', `${random.pick(PROCESSES)} 5`]);
  return random.pick([
    ['del', key],
    ['pexpire', key, random.pick(['1', '300', '60000'])],
    ['set', key, text],
    ['set', key, random.pick(['0', '1', '2147483647'])],
    ['hset', key, random.pick([...OWNERS, ...PROCESSES, 'mode', 'ahead']), text],
    ['rpush', key, random.pick([...OWNERS, text])],
    ['zadd', key, random.pick(['0', '5', '1e15']), random.pick([...OWNERS, ...PROCESSES, text])],
    ['sadd', key, random.pick([...OWNERS, text])],
    ['lpop', key],
    ['zpopmin', key],
  ]);
}
