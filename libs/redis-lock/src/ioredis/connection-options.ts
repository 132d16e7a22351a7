import type { RedisOptions } from 'ioredis';

import { describeValue, quoteName } from '../core/api/errors.js';
import { isPlainObject } from '../core/api/shapes.js';

/** As ioredis reads it, also from the environment. */
const isWhole = (value: unknown) =>
  ['number', 'string'].includes(typeof value) && /^\d{1,9}$/.test(String(value));
const isPort = (value: unknown) => isWhole(value) && Number(value) > 0 && Number(value) < 65_536;
const isTime = (value: unknown) => Number.isFinite(value) && Number(value) >= 0;
const isFunction = (value: unknown) => typeof value === 'function';
const isAddress = (value: unknown) => isPlainObject(value) && optionsProblem(value) === undefined;
// A copy has no holes.
const areAddresses = (value: unknown) =>
  Array.isArray(value) && value.length > 0 && Array.from(value).every(isAddress);

const ADDRESSES = "a list of one address or more, such as [{ host: 'sentinel-1', port: 26379 }]";

/** Another value leads to another server or database, or throws later, where no code can catch it. */
const CHECKS = new Map<string, readonly [what: string, fits: (value: unknown) => boolean]>([
  ['port', ['a port from 1 to 65535', isPort]],
  ['db', ['a database number, which is whole and not below 0', isWhole]],
  ['sentinels', [ADDRESSES, areAddresses]],
  ['connectTimeout', ['a number that is not below 0', isTime]],
  ['reconnectOnError', ['a function', isFunction]],
]);

/** All options of ioredis 5 and 6. */
const NAMES = [
  'host port path family tls username password db keyPrefix connectionName connectTimeout',
  'commandTimeout socketTimeout disconnectTimeout blockingTimeout blockingTimeoutGrace keepAlive',
  'noDelay lazyConnect Connector retryStrategy reconnectOnError maxRetriesPerRequest',
  'maxLoadingRetryTime enableReadyCheck enableOfflineQueue offlineQueue commandQueue',
  'autoResubscribe autoResendUnfulfilledCommands readOnly stringNumbers monitor',
  'enableAutoPipelining autoPipeliningIgnoredCommands scripts himportFieldsets',
  'showFriendlyErrorStack protocol replyMapping disableClientInfo clientInfoTag sentinels name role',
  'natMap sentinelUsername sentinelPassword sentinelTLS enableTLSForSentinelMode',
  'sentinelCommandTimeout sentinelRetryStrategy sentinelReconnectStrategy updateSentinels',
  'sentinelMaxConnections failoverDetector preferredSlaves',
].flatMap((names) => names.split(' '));

/** Words for where the locks are. ioredis ignores them, and takes 127.0.0.1 and database 0. */
const WORDS = new Map([
  ['database', 'db'],
  ['hostname', 'host'],
  ['server', 'host'],
  ['address', 'host'],
  ['mastername', 'name'],
]);

/** Options of others, which ioredis ignores too. */
const ELSEWHERE = [
  [/^(socket|rootNodes|sentinelRootNodes)$/, 'node-redis; pass nodeRedis(options)'],
  [/^(nodes|redisOptions)$/, 'a Cluster; pass a Cluster client'],
] as const;

/** The problem with a connection's options, worded as the end of a sentence. */
export function optionsProblem(options: object): string | undefined {
  for (const [option, value] of Object.entries(options)) {
    const problem = problemOfName(option, value) ?? problemOfValue(option, value);
    if (problem !== undefined) return problem;
  }
  const { sentinels, name } = options as RedisOptions;
  if (sentinels && !name) {
    return "its sentinels need the name of their master, such as name: 'mymaster'";
  }
  if (name && !sentinels)
    return 'its name is that of a master of Sentinel, but it has no sentinels';
  return undefined;
}

/** ioredis fills in an option that is missing, undefined or null, except the port. */
export function problemOfValue(option: string, value: unknown): string | undefined {
  const [what, fits] = CHECKS.get(option) ?? [];
  if (value === undefined || (value === null && option !== 'port')) return undefined;
  if (fits === undefined || fits(value)) return undefined;
  // A text with other characters may be a url with a password.
  const isShown = typeof value !== 'string' || /^[\w.+-]{0,32}$/.test(value);
  return `its ${option} must be ${what ?? ''}, not ${isShown ? describeValue(value) : 'a text'}`;
}

/** Any other unknown name may be an option of a newer ioredis. */
function problemOfName(name: string, value: unknown): string | undefined {
  if (NAMES.includes(name)) return undefined;
  if (/^ur[il]$/i.test(name) || (typeof value === 'string' && /^rediss?:/.test(value))) {
    return "it has a url among its options; pass the url itself, as in connection: 'redis://…', or nodeRedis({ url })";
  }
  const other = ELSEWHERE.find(([names]) => names.test(name));
  if (other !== undefined) return `its ${name} is an option of ${other[1]}`;
  const given = lettersOf(name);
  const meant = WORDS.get(given) ?? NAMES.find((known) => isMisspelt(given, lettersOf(known)));
  return meant && `it has the unknown option ${quoteName(name)}; did you mean ${meant}?`;
}

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/_/g, '');
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
  const { username, password, port, pathname, hash, search, searchParams } = new URL(url);
  if (!canDecode(username) || !canDecode(password)) {
    return 'its user or password holds a bare %; write it as %25';
  }
  if (hash !== '') return 'it holds a bare #; write it as %23';
  if (/^\?[^=]*@/.test(search)) return 'it holds a bare ?; write it as %3F';
  const db = pathname.slice(1);
  return (
    (port === '' ? undefined : problemOfValue('port', port)) ??
    (db === '' ? undefined : problemOfValue('db', db)) ??
    problemOfQuery(searchParams)
  );
}

/** ioredis takes options from the query, as texts. */
function problemOfQuery(query: URLSearchParams): string | undefined {
  const problem = optionsProblem(Object.fromEntries(query));
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
