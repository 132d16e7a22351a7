import type { AcquireAnswer } from '../core/holding/protocol.js';
import type { FencedPair } from '../core/lua/fencing-token.js';
import type { Script } from '../core/redis/script.js';
import type { InProcessServer } from './in-process-server.js';

/** The operations that a test can make fail. */
export type LockOperation = 'acquire' | 'release' | 'renew';

/** The server's answer to one script: its Lua in TypeScript. */
export interface Answer {
  readonly script: unknown;
  readonly operation: LockOperation | undefined;
  run(
    server: InProcessServer,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): unknown;
}

/** A call by the names that the script has declared; each argument as a text, and as a number. */
export interface Call<K extends string, A extends string> {
  readonly keys: Readonly<Record<K, string>>;
  readonly texts: Readonly<Record<A, string>>;
  readonly numbers: Readonly<Record<A, number>>;
}

export function answer<K extends string, A extends string, R>(
  script: Script<K, A, R>,
  operation: LockOperation | undefined,
  run: (server: InProcessServer, call: Call<K, A>) => NoInfer<R>,
): Answer {
  return {
    script,
    operation,
    run: (server, keys, args) =>
      run(server, {
        keys: named(script.keys, keys, String),
        texts: named(script.args, args, String),
        numbers: named(script.args, args, Number),
      }),
  };
}

/** The token that a call asks for. */
export interface TokenOf {
  readonly token: string;
  readonly tokenTtlMs: number;
}

/** The answer of a script that acquires, and of its twin. */
export function answerPair<K extends string, A extends string>(
  pair: FencedPair<K, A>,
  run: (server: InProcessServer, call: Call<K, A>, token?: TokenOf) => AcquireAnswer,
): Answer[] {
  return [
    answer(pair, 'acquire', run),
    {
      script: pair.fenced,
      operation: 'acquire',
      run: (server, keys, args) => {
        const [texts, numbers] = [named(pair.args, args, String), named(pair.args, args, Number)];
        const token = { token: String(keys.at(-1)), tokenTtlMs: Number(args.at(-1)) };
        return run(server, { keys: named(pair.keys, keys, String), texts, numbers }, token);
      },
    },
  ];
}

/** For a script of any number of keys. */
export function answerMany<R>(
  script: Script<never, never, R>,
  operation: LockOperation | undefined,
  run: (
    server: InProcessServer,
    keys: readonly string[],
    args: readonly (string | number)[],
  ) => NoInfer<R>,
): Answer {
  return { script, operation, run };
}

function named<N extends string, T>(
  names: readonly N[],
  values: readonly (string | number)[],
  as: (value: unknown) => T,
): Record<N, T> {
  return Object.fromEntries(names.map((name, i) => [name, as(values[i])])) as Record<N, T>;
}
