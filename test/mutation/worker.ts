import { readFileSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import type { NamedScript } from '../testing/script-calls.js';
import type { KeptCall } from './kept.js';
import type { Recorded } from './recording.js';
import { redirect } from './redirect.js';
import { mutantsOf, type Mutant } from './mutants.js';
import type { Outcome } from './outcome.js';

/** The order of a main process to its worker. */
export interface Order {
  readonly scripts: readonly NamedScript[];
  readonly specs: readonly string[];
  /** The file of the recorded calls. */
  readonly file: string;
  /** The calls that are kept in the repository. */
  readonly kept: readonly KeptCall[];
  readonly work: 'record' | 'states' | 'calls' | 'simulation';
}

type Judge = (mutant: Mutant) => Promise<Partial<Outcome>>;

/** Each judge is loaded alone: the specs change the time of their process. */
const JUDGES: Readonly<Record<Order['work'], (order: Order) => Promise<Judge | undefined>>> = {
  async record({ scripts, file }) {
    const { Recording, recordHistories, recordRandomCalls } = await import('./recording.js');
    const recording = new Recording();
    await recording.during(scripts, async () => {
      await recordRandomCalls(recording, scripts, RANDOM_CALLS);
      await recordHistories(recording, SEEDS);
    });
    writeFileSync(file, serialize(recording.calls));
    return undefined;
  },
  async states({ scripts, specs }) {
    const { States } = await import('./states.js');
    const files = specs.map((name) => ({ name, load: () => import(name) as Promise<unknown> }));
    const states = await States.of(files, scripts);
    return async (mutant) => ({ state: (await states.find(mutant)) ?? null });
  },
  async calls({ scripts, kept }) {
    const { Kept } = await import('./kept.js');
    const calls = new Kept(kept, scripts);
    return async (mutant) => ({ call: calls.find(mutant) ?? null });
  },
  async simulation({ scripts, file }) {
    const { Simulated } = await import('./simulated.js');
    const simulated = new Simulated(deserialize(readFileSync(file)) as Recorded[], scripts);
    return async (mutant) => {
      const { calls, differing } = simulated.differences(mutant);
      const history = (await simulated.find(mutant, differing)) ?? null;
      return { calls, differing: differing.map(({ number }) => number), history };
    };
  },
};

const RANDOM_CALLS = 300_000;
/** Each primitive has so many. */
const SEEDS = 30;

Error.stackTraceLimit = 0;
redirect();
process.once('disconnect', () => process.exit(0));
process.once('message', (order: Order) => {
  serve(order).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});

async function serve(order: Order): Promise<void> {
  const judge = await JUDGES[order.work](order);
  if (judge === undefined) process.exit(0);
  const mutants = mutantsOf(order.scripts);
  process.on('message', (index: number) => {
    const mutant = mutants[index];
    if (mutant === undefined) process.exit(0);
    void judge(mutant).then(
      (outcome) => process.send?.({ index, outcome }),
      (error: unknown) => {
        const { by, isFound } = error as { by?: string; isFound?: boolean };
        const outcome = isFound === true ? { state: `${String(by)} hangs` } : undefined;
        process.send?.({ index, outcome, error: String(error) }, () => {
          process.exit(0);
        });
      },
    );
  });
  process.send?.('ready');
}
