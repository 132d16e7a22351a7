import { reads } from '../../libs/redis-lock/src/testing/server/commands/command.js';
import { COMMANDS, replaceScript } from '../../libs/redis-lock/src/testing/server/redis-server.js';
import { bytesOf } from '../../libs/redis-lock/src/testing/server/bytes.js';
import { CommandError } from '../../libs/redis-lock/src/testing/server/store.js';
import { CountingServer } from '../support/in-process/counting-server.js';
import { REACHED, ROUND, telling } from './lua-text.js';
import { textOf, type Mutant, type Source } from './mutants.js';

/** More rounds of loops than any script of a case or a history has. */
const MOST_ROUNDS = 300_000;
let rounds = 0;

/** Receives the number of each statement that a watched script reaches. */
let reached: (script: string, statement: number) => void = () => undefined;

COMMANDS.set(
  ROUND,
  reads(0, 0, () => {
    rounds += 1;
    if (rounds > MOST_ROUNDS) throw new CommandError('ERR the loop has no end');
    return 0;
  }),
);

/** Begins a case or a history, in which scripts have so many rounds again. */
export function beginRounds(): void {
  rounds = 0;
}

// Specs count the commands of a script; these belong to none.
const { count } = CountingServer.prototype;
CountingServer.prototype.count = function (this: CountingServer, name, args) {
  if (name !== ROUND && !name.startsWith(REACHED)) count.call(this, name, args);
};

/** While the returned function is not called, the scripts are the changed ones. */
export function plant(mutant: Mutant): () => void {
  const scripts = new Set(mutant.in.map(({ script }) => script.lua));
  const undo = [...scripts].flatMap((lua) => replaced(lua, textOf(lua, mutant)));
  return () => {
    for (const step of undo) step();
  };
}

/** Clients that send a text send its bytes. */
function replaced(lua: string, by: string): (() => void)[] {
  return [...new Set([lua, bytesOf(lua)])].map((text) => replaceScript(text, by));
}

/** From now on the scripts tell which of their statements are reached. */
export function watch(scripts: readonly Source[], tell: typeof reached): () => void {
  reached = tell;
  const undo: (() => void)[] = [];
  for (const [i, { name, lua }] of scripts.entries()) {
    const command = `${REACHED}${String(i)}`;
    COMMANDS.set(
      command,
      reads(1, 1, (_, [statement]) => {
        reached(name, Number(statement));
        return 0;
      }),
    );
    undo.push(...replaced(lua, telling(lua).replaceAll(`'${REACHED}'`, `'${command}'`)));
  }
  return () => {
    for (const step of undo) step();
  };
}
