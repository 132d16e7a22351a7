import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

import { systemClock, type Clock } from '../core/time/clock.js';
import { LockError } from '../core/api/errors.js';
import { KeySpace } from '../core/redis/key-names.js';
import { DEFAULT_URL, disconnect } from '../ioredis/redis-client.js';
import { isReply } from '../ioredis/reply-error.js';
import { textOf, UnreachableError, within } from './answers.js';
import { examine } from './doctor.js';
import { fail, worst, type Finding } from './finding.js';
import { inspect } from './inspect.js';
import type { Inspection } from './inspection.js';
import { jsonOf, linesOf, pageOf, plainLines } from './report.js';
import { connect, serversOf, type Server, type Target } from './server.js';

const HELP = `Usage: nestjs-redis-lock doctor [options]
       nestjs-redis-lock inspect <name> [options]

  doctor            looks at everything that locks depend on, and says how to set it right
  inspect <name>    shows who holds a lock, for how long, and who waits; changes nothing

Options:
  --url <url>         redis://, rediss:// or the path of a socket; default: REDIS_URL, else
                      redis://127.0.0.1:6379. More than one: the nodes of a red lock, of a
                      Cluster, or sentinels
  --cluster           the urls are nodes of a Redis Cluster
  --sentinel <name>   the urls are sentinels that know the master by this name
  --ca <file>         the certificate authority of rediss://
  --key-prefix <text> keyPrefix of RedisLockModule
  --json              for programs; docs/command-line.md has the shape
  --version, --help

REDIS_USERNAME and REDIS_PASSWORD are used where the url has none.

Exit code: 0 nothing breaks locks (there may be warnings), 1 something does, 2 not understood,
69 Redis cannot be reached.
`;

/** Exit codes: no finding breaks locks, a finding does, the arguments are wrong, no server answers. */
export const EXIT = { fine: 0, broken: 1, usage: 2, unreachable: 69 } as const;

/** The time limit of a run, whatever the servers do. */
const MOST_MS = 15_000;

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: () => string;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly clock?: Clock;
}

/** Resolves with the exit code, when everything is closed. Never rejects. */
export async function runCommandLine(
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const hide = secretsOf(args, surroundings.env);
  try {
    return await run(args, { ...surroundings, hide });
  } catch (error) {
    const isUsage = error instanceof UsageError || error instanceof LockError;
    surroundings.err(
      `${plainLines(hide(textOf(error)))}\n${isUsage ? 'See nestjs-redis-lock --help.\n' : ''}`,
    );
    if (isUsage) return EXIT.usage;
    return error instanceof UnreachableError ? EXIT.unreachable : EXIT.broken;
  }
}

class UsageError extends Error {}

interface Run extends Surroundings {
  /** Takes the passwords out of a text of another library. */
  readonly hide: (text: string) => string;
}

async function run(args: readonly string[], io: Run): Promise<number> {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    io.out(HELP);
    return EXIT.fine;
  }
  if (values.version === true) {
    io.out(`${io.version()}\n`);
    return EXIT.fine;
  }
  const [command, ...names] = positionals;
  const keyPrefix = values['key-prefix'] ?? '';
  const key = keyOf(command, names, keyPrefix);
  const servers = serversOf(targetOf(values, io.env));
  const isJson = values.json === true;
  try {
    const clock = io.clock ?? systemClock;
    if (key === undefined) return await runDoctor({ servers, keyPrefix, clock }, isJson, io);
    return await runInspect(servers, names[0] ?? '', key, isJson, io);
  } finally {
    for (const { client } of servers) disconnect(client);
  }
}

const OPTIONS = {
  url: { type: 'string', multiple: true },
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  ca: { type: 'string' },
  'key-prefix': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(textOf(error));
  }
}

/** The key to inspect; undefined for the doctor. */
function keyOf(
  command: string | undefined,
  names: readonly string[],
  keyPrefix: string,
): string | undefined {
  const keys = new KeySpace(keyPrefix);
  if (command === 'doctor') {
    if (names.length > 0) throw new UsageError('doctor takes no name');
    return undefined;
  }
  if (command !== 'inspect') throw new UsageError('Expected a command: doctor or inspect <name>');
  if (names.length !== 1) throw new UsageError('inspect takes one name');
  return keys.key(names[0]);
}

function targetOf(values: ReturnType<typeof parsed>['values'], env: Surroundings['env']): Target {
  const { url = [env['REDIS_URL'] ?? DEFAULT_URL], sentinel, ca } = values;
  const isCluster = values.cluster === true;
  if (isCluster && sentinel !== undefined) {
    throw new UsageError('--cluster and --sentinel exclude each other');
  }
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = env;
  if (sentinel === '') throw new UsageError('--sentinel takes the name of a master');
  return { urls: url, isCluster, sentinel, ca, username, password };
}

async function runDoctor(
  examination: Parameters<typeof examine>[0],
  isJson: boolean,
  io: Run,
): Promise<number> {
  const findings: Finding[] = [];
  const found = (finding: Finding) => {
    findings.push(finding);
    if (!isJson) io.out(linesOf(finding));
  };
  let isReached = true;
  try {
    await within(MOST_MS, 'the examination', collect(examination, found));
  } catch (error) {
    if (!(error instanceof UnreachableError) && !isReply(error)) throw error;
    isReached = isReply(error);
    const why = io.hide(textOf(error));
    found(fail('connection', why, isReached ? adviceFor(why) : ABSENT));
  }
  const status = worst(findings);
  if (isJson) io.out(jsonOf({ version: 1, status, findings }));
  if (!isReached) return EXIT.unreachable;
  return status === 'fail' ? EXIT.broken : EXIT.fine;
}

const ABSENT =
  'look whether the server runs, and whether address, port, TLS and firewall are right';

function adviceFor(refusal: string): string {
  if (/cluster support disabled/i.test(refusal))
    return 'leave out --cluster: it is a single server';
  if (/^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN)/.test(refusal))
    return 'wait until the server is ready';
  return 'look at the user, the password and the database: in the url, or REDIS_USERNAME and REDIS_PASSWORD';
}

async function collect(
  examination: Parameters<typeof examine>[0],
  found: (finding: Finding) => void,
): Promise<void> {
  for await (const finding of examine(examination)) found(finding);
}

async function runInspect(
  servers: readonly Server[],
  name: string,
  key: string,
  isJson: boolean,
  io: Run,
): Promise<number> {
  const looking = servers.map(async (server): Promise<Inspection> => {
    await connect(server);
    return inspect(server.name, server.client, key);
  });
  const nodes = await within(MOST_MS, 'the inspection', Promise.all(looking));
  if (isJson) io.out(jsonOf({ version: 1, name, nodes }));
  else io.out(nodes.map(pageOf).join('\n'));
  return nodes.some(({ kind }) => kind === 'unknown') ? EXIT.broken : EXIT.fine;
}

/** An error of any library must not show a password of ours. */
function secretsOf(args: readonly string[], env: Surroundings['env']): (text: string) => string {
  const urls = [...args, env['REDIS_URL'] ?? ''].map((arg) => arg.replace(/^--url=/, ''));
  const inUrls = urls.flatMap((url) => {
    const password = /^rediss?:\/\/[^/@]*?:([^/]*)@/.exec(url)?.[1] ?? '';
    return [password, decoded(password)];
  });
  const secrets = [env['REDIS_PASSWORD'] ?? '', ...inUrls].filter((secret) => secret !== '');
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, '***'), text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The version of the package that a file of ours is in, wherever a link to it may be. */
export function versionOf(file: string): string {
  let folder = dirname(realpathSync(file));
  while (dirname(folder) !== folder) {
    const { name, version } = manifestIn(folder);
    if (name === 'nestjs-redis-lock' && version !== undefined) return version;
    folder = dirname(folder);
  }
  return 'unknown';
}

function manifestIn(folder: string): { name?: string; version?: string } {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8');
    return JSON.parse(text) as { name?: string; version?: string };
  } catch {
    return {};
  }
}
