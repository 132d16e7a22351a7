import type { AcquireAnswer } from '../core/holding/protocol.js';
import type { FencedPair } from '../primitives/lua/fencing-token.js';
import type { Script } from '../core/redis/script.js';
import type { InProcessServer } from './in-process-server.js';

/** The operations that a test can let fail. */
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

/**
 * A call by the names that its script declared: keys and arguments as texts, numeric arguments also
 * as numbers.
 */
export type Call<Name extends string, NumberName extends string = never> = Readonly<
  Record<Name, string>
> & {
  readonly server: InProcessServer;
  readonly numbers: Readonly<Record<NumberName, number>>;
};

/** Whether a call wants a fencing token. */
export interface MaybeFenced {
  readonly server: InProcessServer;
  readonly token?: string;
  readonly numbers: { readonly tokenTtlMs?: number };
}

export function answer<K extends string, A extends string, R>(
  script: Script<K, A, R>,
  operation: LockOperation | undefined,
  run: (call: Call<K | A, A>) => NoInfer<R>,
): Answer {
  return {
    script,
    operation,
    run: (server, keys, args) => {
      const texts = named([...script.keys, ...script.args], [...keys, ...args].map(String));
      const numbers = named(script.args, args.map(Number));
      return run({ ...texts, server, numbers });
    },
  };
}

/** The answers of a script that acquires and of its fenced twin. */
export function answerPair<K extends string, A extends string>(
  pair: FencedPair<K, A>,
  run: (call: Call<K | A, A> & MaybeFenced) => AcquireAnswer,
): Answer[] {
  return [
    answer(pair, 'acquire', (call) => run(call)),
    answer(pair.fenced, 'acquire', (call) => run(call as Call<K | A, A> & MaybeFenced)),
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

function named<N extends string, T>(names: readonly N[], values: readonly T[]): Record<N, T> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Record<N, T>;
}
