import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

import { systemClock } from '../core/time/clock.js';
import { LockError } from '../core/api/errors.js';
import { KeySpace } from '../core/redis/key-names.js';
import { isMisspelt } from '../ioredis/connection-options.js';
import { DEFAULT_URL } from '../ioredis/choose-client.js';
import type { Server, Target } from '../connection/cli-target.js';
import { serversOf } from './servers.js';
import { textOf, UnreachableError } from './answers.js';
import { runDoctor } from './doctor-command.js';
import { runInspect } from './inspect-command.js';
import { EXIT, UsageError, type Run, type Surroundings } from './io.js';
import { plainLines } from './report.js';
import { runUnlock } from './unlock-command.js';

const HELP = `Usage: nestjs-redis-lock doctor [options]
       nestjs-redis-lock inspect <name> [options]
       nestjs-redis-lock unlock <name> [--yes] [--kind <kind>] [--reason <text>] [options]

  doctor            checks everything that locks depend on, and shows how to fix it
  inspect <name>    shows who holds a lock, for how long, and who waits; changes nothing
  unlock <name>     shows the same, and after a confirmation takes the lock from its holder

Options:
  --url <url>         redis://, rediss:// or the path of a socket; default: REDIS_URL, else
                      redis://127.0.0.1:6379. Several: the nodes of a red lock or of a
                      Cluster, or sentinels
  --cluster           the urls are nodes of a Redis Cluster
  --sentinel <name>   the urls are sentinels that know the master by this name
  --ca <file>         the certificate authority of rediss://
  --key-prefix <text> keyPrefix of RedisLockModule
  --json              for programs; the docs of the command line have the shape
  --yes               unlock without a confirmation
  --kind <kind>       lock, fair, read, write or semaphore; needed if a writer also reads
  --reason <text>     for the record that unlock prints
  --no-ready-check    doctor: the application sets enableReadyCheck: false
  --version, --help

REDIS_USERNAME and REDIS_PASSWORD are used where the url has none.

Exit code: 0 nothing breaks locks (there may be warnings), 1 something does, or the unlock was not
confirmed or missed the prefix, 2 wrong arguments, 69 Redis cannot be reached.
`;

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

async function run(args: readonly string[], io: Surroundings & Pick<Run, 'hide'>): Promise<number> {
  const { values, positionals } = parsed(args);
  if (values.help === true) {
    io.out(HELP);
    return EXIT.fine;
  }
  if (values.version === true) {
    io.out(`${io.version()}\n`);
    return EXIT.fine;
  }
  const [given, name = ''] = positionals;
  const command = COMMANDS.find((one) => one === given);
  if (command === undefined) throw new UsageError(unknown('command', given, COMMANDS));
  checkNames(command, positionals.length - 1);
  checkOptions(command, values);
  const keyPrefix = values['key-prefix'] ?? '';
  const keys = new KeySpace(keyPrefix);
  if (command !== 'doctor') keys.key(name);
  const servers = serversOf(targetOf(values, io.env));
  const { clock = systemClock } = io;
  const all = { ...io, clock, keyPrefix, isJson: values.json === true };
  try {
    return await runCommand(command, name, values, servers, all);
  } finally {
    for (const { client } of servers) client.end();
  }
}

function runCommand(
  command: Command,
  name: string,
  values: Values,
  servers: readonly Server[],
  io: Run,
): Promise<number> {
  switch (command) {
    case 'doctor':
      return runDoctor(servers, io, values['no-ready-check'] !== true);
    case 'inspect':
      return runInspect(servers, name, io);
    case 'unlock': {
      const { kind, reason, yes = false } = values;
      return runUnlock(servers, { name, kind, reason, isSure: yes }, io);
    }
  }
}

const OPTIONS = {
  url: { type: 'string', multiple: true },
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  ca: { type: 'string' },
  'key-prefix': { type: 'string' },
  json: { type: 'boolean' },
  kind: { type: 'string' },
  reason: { type: 'string' },
  yes: { type: 'boolean' },
  'no-ready-check': { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const COMMANDS = ['doctor', 'inspect', 'unlock'] as const;
type Command = (typeof COMMANDS)[number];

/** Options that only these commands have. */
const OPTIONS_OF: Readonly<Partial<Record<keyof typeof OPTIONS, readonly Command[]>>> = {
  ...{ kind: ['unlock'], reason: ['unlock'], yes: ['unlock'], 'no-ready-check': ['doctor'] },
};

/** A word that shares its first letters with a known word is a typing error. */
const SHARED_BY_TYPO = 2;

type Values = ReturnType<typeof parsed>['values'];

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
  } catch (error) {
    const { message } = error as Error;
    const [, option] = /^Unknown option '([^']+)'/.exec(message) ?? [];
    throw new UsageError(option ? unknown('option', option, Object.keys(OPTIONS), '--') : message);
  }
}

function unknown(
  what: string,
  given: string | undefined,
  known: readonly string[],
  prefix = '',
): string {
  const all = known.map((word) => prefix + word).join(', ');
  if (given === undefined) return `A ${what} is missing: ${all}`;
  const bare = given.slice(prefix.length);
  const [closest = ''] = known.toSorted((a, b) => likeness(b, bare) - likeness(a, bare));
  const isTypo = likeness(closest, bare) >= SHARED_BY_TYPO;
  return `Unknown ${what} ${given}: ${isTypo ? `did you mean ${prefix + closest}?` : all}`;
}

/**
 * The most characters with which the given word, and one part of the known one, both begin.
 * A part that is misspelt counts as the whole word.
 */
function likeness(known: string, given: string): number {
  const words = [known, ...known.split('-')];
  if (words.some((word) => isMisspelt(given, word))) return Math.max(given.length, SHARED_BY_TYPO);
  return Math.max(...words.map((word) => sharedStart(word, given)));
}

/** The number of characters with which both begin. */
function sharedStart(a: string, b: string): number {
  const at = Array.from(a).findIndex((character, i) => character !== b[i]);
  return at === -1 ? a.length : at;
}

/** @throws {UsageError} the command has other arguments */
function checkNames(command: Command, count: number): void {
  if (command === 'doctor' && count > 0)
    throw new UsageError('doctor takes no name; write --url redis://…');
  if (command !== 'doctor' && count !== 1) throw new UsageError(`${command} takes one name`);
}

/** @throws {UsageError} an option belongs to another command */
function checkOptions(command: Command, values: Values): void {
  for (const [option, commands] of Object.entries(OPTIONS_OF)) {
    if (values[option as keyof Values] === undefined || commands.includes(command)) continue;
    throw new UsageError(`--${option} is an option of ${commands.join(', ')}`);
  }
}

function targetOf(values: Values, env: Surroundings['env']): Target {
  const { url = [env['REDIS_URL'] ?? DEFAULT_URL], sentinel, ca } = values;
  const isCluster = values.cluster === true;
  if (isCluster && sentinel !== undefined) {
    throw new UsageError('--cluster and --sentinel exclude each other');
  }
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password } = env;
  if (sentinel === '') throw new UsageError('--sentinel takes the name of a master');
  return { urls: url, isCluster, sentinel, ca, username, password };
}

/** Hides passwords: an error of another library may contain one. */
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

/** The version of the package that contains a file of this library, also behind a link. */
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
