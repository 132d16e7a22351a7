import type { RedisOptions } from 'ioredis';

import { describeValue, quoteName } from '../core/api/errors.js';
import { isPlainObject } from '../core/api/shapes.js';

/** The kind of values that an option takes, as part of a sentence. */
interface Kind {
  readonly what: string;
  fits(value: unknown): boolean;
}

const LARGEST = 2 ** 31 - 1;

const oneOf = (...choices: readonly unknown[]): Kind => ({
  what: choices.map(describeValue).join(' or '),
  fits: (value) => choices.includes(value),
});

const TEXT: Kind = { what: 'a text', fits: (value) => typeof value === 'string' };
const FLAG = oneOf(true, false);
const RUN: Kind = { what: 'a function', fits: (value) => typeof value === 'function' };
const LIST: Kind = { what: 'a list', fits: Array.isArray };
const MAP: Kind = { what: 'a plain object', fits: isPlainObject };
const MAP_OR_RUN: Kind = {
  what: 'an object or a function',
  fits: (value) => Object(value) === value,
};

/** Node throws for any other time, where no code can catch it. */
const NUMBER: Kind = {
  what: `a whole number from 0 to ${String(LARGEST)}`,
  fits: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LARGEST,
};

/** As ioredis reads it, also from the environment. */
const DATABASE: Kind = {
  what: 'a database number, which is whole and not below 0',
  fits: (value) => ['number', 'string'].includes(typeof value) && /^\d{1,9}$/.test(String(value)),
};

const PORT: Kind = {
  what: 'a port from 1 to 65535',
  fits: (value) => DATABASE.fits(value) && Number(value) >= 1 && Number(value) <= 65_535,
};

const TLS: Kind = {
  what: 'an object of options for TLS',
  fits: (value) => typeof value === 'object' || typeof value === 'string' || FLAG.fits(value),
};

const SENTINELS: Kind = {
  what: "a list of one address or more, such as [{ host: 'sentinel-1', port: 26379 }]",
  // A copy has no holes.
  fits: (value) =>
    Array.isArray(value) && value.length > 0 && Array.from<unknown>(value).every(isAddress),
};

const isAddress = (value: unknown) =>
  isPlainObject(value) && (problemOfNames(value) ?? problemOfValues(value)) === undefined;

/** All options of ioredis: the compiler compares the names with those of the installed version. */
const OPTIONS = {
  ...{ host: TEXT, port: PORT, path: TEXT, family: oneOf(0, 4, 6), tls: TLS },
  ...{ username: TEXT, password: TEXT, db: DATABASE, keyPrefix: TEXT, connectionName: TEXT },
  ...{ connectTimeout: NUMBER, commandTimeout: NUMBER, socketTimeout: NUMBER },
  ...{ disconnectTimeout: NUMBER, blockingTimeout: NUMBER, blockingTimeoutGrace: NUMBER },
  ...{ keepAlive: NUMBER, noDelay: FLAG, lazyConnect: FLAG, Connector: RUN },
  ...{ retryStrategy: RUN, reconnectOnError: RUN, maxRetriesPerRequest: NUMBER },
  ...{ maxLoadingRetryTime: NUMBER, enableReadyCheck: FLAG, enableOfflineQueue: FLAG },
  ...{ offlineQueue: FLAG, commandQueue: FLAG, autoResubscribe: FLAG },
  ...{ autoResendUnfulfilledCommands: FLAG, readOnly: FLAG, stringNumbers: FLAG, monitor: FLAG },
  ...{ enableAutoPipelining: FLAG, autoPipeliningIgnoredCommands: LIST, scripts: MAP },
  ...{ himportFieldsets: LIST, showFriendlyErrorStack: FLAG, protocol: oneOf(2, 3) },
  ...{ replyMapping: oneOf('legacy', 'resp3'), disableClientInfo: FLAG, clientInfoTag: TEXT },
  ...{ sentinels: SENTINELS, name: TEXT, role: oneOf('master', 'slave'), natMap: MAP_OR_RUN },
  ...{ sentinelUsername: TEXT, sentinelPassword: TEXT, sentinelTLS: TLS },
  ...{ enableTLSForSentinelMode: FLAG, sentinelCommandTimeout: NUMBER },
  ...{ sentinelRetryStrategy: RUN, sentinelReconnectStrategy: RUN, updateSentinels: FLAG },
  ...{ sentinelMaxConnections: NUMBER, failoverDetector: FLAG, preferredSlaves: MAP_OR_RUN },
} as const satisfies Record<keyof RedisOptions, Kind>;

const KINDS = new Map<PropertyKey, Kind>(Object.entries(OPTIONS));

const THE_URL = "pass the url itself, as in connection: 'redis://…'";

/**
 * Words for what decides where the locks are. ioredis ignores them, and takes the server at
 * 127.0.0.1 or database 0. Any other unknown name may be an option of a newer version.
 */
const WORDS = {
  host: 'hostname server serverhost masterhost address addr ip endpoint',
  port: 'serverport portnumber',
  path: 'socketpath unixsocket unixsocketpath',
  db: 'dbindex dbname dbnumber database databaseindex databasename',
  username: 'user login',
  password: 'pass passwd pwd auth',
  keyPrefix: 'prefix namespace',
  tls: 'ssl usessl usetls',
  sentinels: 'sentinelnodes sentinelhosts',
  name: 'mastername mastergroup sentinelname',
  [THE_URL]: 'url uri connection connectionstring connectionurl',
  'write options of ioredis directly into connection, or pass a client: connection: new Cluster(…)':
    'redis client socket options config settings cluster scalereads node rootnodes clusternodes',
};

/** The problem with a connection's options, worded as the end of a sentence. */
export function optionsProblem(options: object): string | undefined {
  const { sentinels, name } = options as RedisOptions;
  const problem = problemOfNames(options) ?? problemOfValues(options);
  if (problem !== undefined) return problem;
  if (sentinels && !name) {
    return "its sentinels need the name of their master, such as name: 'mymaster'";
  }
  if (name && !sentinels)
    return 'its name is that of a master of Sentinel, but it has no sentinels';
  return undefined;
}

function problemOfNames(options: object): string | undefined {
  for (const name of Reflect.ownKeys(options)) {
    const problem = KINDS.has(name) ? undefined : problemOfName(name, options);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOfValues(options: object): string | undefined {
  for (const [option, value] of Object.entries(options)) {
    const problem = problemOfValue(option, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** ioredis fills in an option that is missing, undefined or null. */
export function problemOfValue(option: string, value: unknown): string | undefined {
  const kind = KINDS.get(option);
  if (value === undefined || (value === null && kind !== PORT)) return undefined;
  if (kind === undefined || kind.fits(value)) return undefined;
  return `its ${option} must be ${kind.what}, not ${shown(option, value)}`;
}

/** Shows a text only if it is no url and no password. */
function shown(option: string, value: unknown): string {
  if (/password/i.test(option)) return `a ${typeof value}`.replace('a o', 'an o');
  return typeof value === 'string' && !/^[\w.+-]{0,32}$/.test(value)
    ? 'a text'
    : describeValue(value);
}

function problemOfName(name: string | symbol, options: object): string | undefined {
  // A name in a url that is no word may be part of a password.
  const isWord = typeof name === 'string' && /^[\w$]{1,64}$/.test(name);
  const value: unknown = Reflect.get(options, name);
  const isUrl = typeof value === 'string' && /^rediss?:/.test(value);
  const hint = isUrl ? THE_URL : hintOf(String(name));
  if (isWord) return hint && `it has the unknown option ${quoteName(name)}; ${hint}`;
  return `it has an option that ioredis does not know${hint === undefined ? '' : `; ${hint}`}`;
}

function hintOf(name: string): string | undefined {
  const given = lettersOf(name);
  const option = Object.keys(OPTIONS).find((known) => isMisspelt(given, lettersOf(known)));
  if (option !== undefined) return `did you mean ${option}?`;
  const isMeant = (word: string) => isMisspelt(given, word);
  const [meant] = Object.entries(WORDS).find(([, words]) => words.split(' ').some(isMeant)) ?? [];
  return meant !== undefined && meant in OPTIONS ? `did you mean ${meant}?` : meant;
}

/** Without the `redis` of a name such as REDIS_HOST. */
function lettersOf(name: string): string {
  const letters = name.toLowerCase().replace(/[^a-z\d]/g, '');
  return letters.replace(/^redis(?=.)/, '');
}

/** With one letter more, less or other, or two swapped. Words of three letters are too alike. */
export function isMisspelt(given: string, known: string): boolean {
  let start = 0;
  while (start < given.length && given[start] === known[start]) start += 1;
  let end = 0;
  const most = Math.min(given.length, known.length) - start;
  while (end < most && given.at(-1 - end) === known.at(-1 - end)) end += 1;
  const differs = given.slice(start, given.length - end);
  const from = known.slice(start, known.length - end);
  if (differs.length <= 1 && from.length <= 1) return known.length > 3 || differs === from;
  return from.length === 2 && differs === from.charAt(1) + from.charAt(0);
}

/**
 * The problem of a url, as the end of a sentence. It shows no part of the url, which may have a
 * password.
 */
export function urlProblem(url: string): string | undefined {
  if (/^\/(?!\/)/.test(url)) return problemOfQuery(new URLSearchParams(url.split('?')[1]));
  if (url === '') return 'it is empty';
  if (/[\s\p{Cc}]/u.test(url)) return 'it holds white space';
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    return 'it begins otherwise, or is not a valid url';
  }
  const { username, password, port, pathname, hash, searchParams } = new URL(url);
  if (!canDecode(username) || !canDecode(password)) {
    return 'its user or password holds a bare %; write it as %25';
  }
  if (hash !== '') return 'it holds a bare #; write it as %23';
  const db = pathname.slice(1);
  return (
    (port === '' ? undefined : problemOfValue('port', port)) ??
    (db === '' ? undefined : problemOfValue('db', db)) ??
    problemOfQuery(searchParams)
  );
}

/** ioredis takes options from the query, all but one as texts. */
function problemOfQuery(query: URLSearchParams): string | undefined {
  const { family, ...texts } = Object.fromEntries(query);
  const problem = optionsProblem({
    ...texts,
    ...(family !== undefined && { family: Number(family) }),
  });
  return problem && `${problem} (a url holds texts only: other options need an object)`;
}

function canDecode(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
