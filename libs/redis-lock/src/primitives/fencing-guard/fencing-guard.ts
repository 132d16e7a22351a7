import { describeValue, LeaseLostError, LockArgumentError } from '../../core/api/errors.js';
import { TOKEN_TTL_MS } from '../lua/fencing-token.js';
import { KeySpace } from '../../core/redis/key-names.js';
import type { LockContext } from '../../core/lock-context.js';
import { ANSWER_MS } from '../../core/redis/connection.js';
import { answerWithin } from '../../core/redis/retry.js';
import { newestKey } from './footprint.js';
import { GUARDED_WRITE, MOST_ARGUMENTS } from './fencing-guard.scripts.js';

/** Commands that write to one key, and change nothing when they are repeated. */
type GuardedCommand = Parameters<FencingGuard['write']>[2];

type Values = readonly (string | number)[];

/** The problem of the arguments of each command. */
const PROBLEMS: Readonly<Record<GuardedCommand, (args: Values) => string | undefined>> = {
  set: setProblem,
  del: ({ length }) =>
    length === 0 ? undefined : 'del takes no further keys: the guard checks only one',
  hset: ({ length }) =>
    length > 0 && length % 2 === 0
      ? undefined
      : `hset takes fields and values in pairs, not ${String(length)} arguments`,
  hdel: ({ length }) => (length > 0 ? undefined : 'hdel takes one field or more'),
  sadd: ({ length }) => (length > 0 ? undefined : 'sadd takes one member or more'),
  srem: ({ length }) => (length > 0 ? undefined : 'srem takes one member or more'),
};

/** The meaning of each option of SET: whether the key must exist, and when the value expires. */
const SET_OPTIONS: ReadonlyMap<string, 'if' | 'end'> = new Map([
  ...(['nx', 'xx'] as const).map((option) => [option, 'if'] as const),
  ...(['ex', 'px', 'exat', 'pxat', 'keepttl'] as const).map((option) => [option, 'end'] as const),
]);

/** Parts of an UPDATE. The database's client binds the value to each placeholder. */
export interface SqlFence {
  /** For SET: the row stores the token of its writer. */
  readonly assignment: string;
  /** For WHERE: no newer holder has written. */
  readonly condition: string;
  readonly value: number;
}

/** A column, or a position, that may stand in the text of a statement. */
const COLUMN = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const PLACEHOLDER = /^(\?|\$[1-9][0-9]{0,4})$/;

/** A guarded key has no prefix of the module: a lock may guard any key. */
const RESOURCES = new KeySpace('');

/**
 * Refuses late writes of a holder whose lease is over. A resource that knows a newer holder's
 * fencing token refuses the older one.
 */
export class FencingGuard {
  /** @internal */
  constructor(private readonly context: LockContext) {}

  /**
   * Runs `command key …args` in the Redis of the locks. Refuses if a newer holder has written to
   * the key through a guard within the last seven days. One script checks and writes. A write that
   * does not happen leaves no token behind. Redis may refuse it, or `nx` or `xx` of `set` is not met. After a removal of what is absent, the token is the newest one.
   * @returns false if the condition of `set` was not met; nothing is written. A hold that repeats
   * `set` with `nx` and the same value gets true again
   * @param token `fencingToken` of a lease that you acquired with `{ fenced: true }`
   * @throws {LeaseLostError} a newer holder has written (`overtaken`); nothing is written
   * @throws {LockBackendError} Redis did not answer; you may call again
   * @throws {LockStateError} the key holds another type than the command writes
   * @throws {LockArgumentError} the token, the command or an argument is not valid; nothing was
   * sent
   */
  async write(
    token: number | undefined,
    key: string,
    command: 'set' | 'del' | 'hset' | 'hdel' | 'sadd' | 'srem',
    ...args: readonly (string | number)[]
  ): Promise<boolean> {
    checkToken(token);
    const guarded = RESOURCES.key(key);
    if (typeof command !== 'string' || !Object.hasOwn(PROBLEMS, command)) {
      throw new LockArgumentError(
        `the command must be one of ${Object.keys(PROBLEMS).join(', ')}, not ${describeValue(command)}`,
      );
    }
    checkArguments(command, args);
    const { connection } = this.context;
    const keys = [guarded, newestKey(guarded)];
    const values = [token, TOKEN_TTL_MS, command, ...args];
    const { value: outcome } = await answerWithin(ANSWER_MS, this.context, key, () =>
      connection.run(GUARDED_WRITE, keys, values),
    );
    if (outcome === 'overtaken') throw new LeaseLostError(key, 'overtaken');
    return outcome === 'written';
  }

  /**
   * The same for a row in a database. An UPDATE with both parts changes no row once a newer holder
   * has written. Check the number of changed rows.
   * @param column of type BIGINT, in which each row stores the newest token
   * @param placeholder `?`, or `$3` for numbered positions
   * @throws {LockArgumentError} the token, the column or the placeholder is not valid
   */
  static sql(column: string, token: number | undefined, placeholder: string): SqlFence {
    checkToken(token);
    checkText('column', column, COLUMN);
    checkText('placeholder', placeholder, PLACEHOLDER);
    return {
      assignment: `${column} = ${placeholder}`,
      condition: `(${column} IS NULL OR ${column} <= ${placeholder})`,
      value: token,
    };
  }
}

function checkToken(token: unknown): asserts token is number {
  if (Number.isSafeInteger(token) && Number(token) > 0) return;
  throw new LockArgumentError(
    `the fencing token must come from a lease with { fenced: true }, not ${describeValue(token)}`,
  );
}

/** ioredis turns any other value into a text, and a list into several arguments. */
function checkArguments(command: GuardedCommand, args: readonly unknown[]): void {
  for (const arg of args) {
    if (typeof arg === 'string' || Number.isFinite(arg)) continue;
    throw new LockArgumentError(
      `an argument of ${command} must be a string or a finite number, not ${describeValue(arg)}`,
    );
  }
  if (args.length > MOST_ARGUMENTS) {
    throw new LockArgumentError(
      `${command} takes at most ${String(MOST_ARGUMENTS)} arguments at a time, not ` +
        `${String(args.length)}: write in several steps`,
    );
  }
  const problem = PROBLEMS[command](args as Values);
  if (problem !== undefined) throw new LockArgumentError(problem);
}

/** At most one condition and one TTL. */
function setProblem([value, ...options]: Values): string | undefined {
  if (value === undefined) return 'set takes a value';
  const given = new Set<string>();
  for (let i = 0; i < options.length; i += 1) {
    const option = String(options[i]).toLowerCase();
    const kind = SET_OPTIONS.get(option);
    if (kind === undefined || given.has(kind)) {
      return `set takes one of nx, xx and one of ex, px, exat, pxat, keepttl, not ${describeValue(options[i])}`;
    }
    given.add(kind);
    if (kind === 'end' && option !== 'keepttl') {
      i += 1;
      if (!/^[1-9]\d{0,14}$/.test(String(options[i]))) {
        return `${option} of set takes a whole number above 0, not ${describeValue(options[i])}`;
      }
    }
  }
  return undefined;
}

/** The only check against SQL injection. */
function checkText(what: string, text: unknown, pattern: RegExp): void {
  if (typeof text === 'string' && pattern.test(text)) return;
  throw new LockArgumentError(`the ${what} cannot be ${describeValue(text)}`);
}
