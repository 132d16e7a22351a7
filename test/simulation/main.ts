import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { commandLine, usage, wordsOf, type Wishes } from './command-line.js';
import { inWords, type TimedEntry } from './history.js';
import { planOf, type Primitive } from './plan.js';
import { shrink } from './shrink.js';
import { simulate, type Verdict, type Watching } from './simulation.js';

/** More failures of one primitive have most often one cause. */
const MOST_FAILURES = 5;

/** `npm run simulate`, from the words of its command line to its exit code. */
export async function main(words: readonly string[]): Promise<number> {
  if (words.includes('--help')) {
    console.log(usage);
    return 0;
  }
  const wishes = commandLine(words);
  if (typeof wishes === 'string') {
    console.log(`${wishes}\n\n${usage}`);
    return 2;
  }
  // The stacks of refusals that the library makes all the time.
  Error.stackTraceLimit = 0;
  let file: number | undefined;
  try {
    if (wishes.history !== undefined) file = openSync(wishes.history, 'w');
  } catch (error) {
    console.log(`--history: ${(error as Error).message}`);
    return 2;
  }
  const tell = (entry: TimedEntry) => {
    if (wishes.trace) console.log(inWords(entry));
    if (file !== undefined) writeSync(file, `${JSON.stringify(entry)}\n`);
  };
  const watching = wishes.trace || file !== undefined ? { tell } : {};
  let failures = 0;
  for (const primitive of wishes.primitives) {
    failures += await simulateMany(primitive, wishes, watching);
  }
  if (file !== undefined) closeSync(file);
  return failures > 0 ? 1 : 0;
}

/** @returns the number of histories with a violation */
async function simulateMany(primitive: Primitive, wishes: Wishes, watching: Watching) {
  const cpu = process.cpuUsage();
  const hash = createHash('sha256');
  let [sections, events, faults, failures, seed] = [0, 0, 0, 0, wishes.seed];
  const isOver = () =>
    wishes.seconds === undefined
      ? sections >= wishes.sections
      : cpuSeconds(cpu) >= wishes.seconds / wishes.primitives.length;
  for (; !isOver() && failures < MOST_FAILURES; seed += 1) {
    const plan = planOf(primitive, seed, wishes.limits);
    watching.tell?.({ at: 0, type: 'history', words: wordsOf(plan) });
    const verdict = await simulate(plan, watching);
    sections += verdict.sections;
    events += verdict.events;
    faults += Object.values(verdict.faults).reduce((sum, count) => sum + count, 0);
    hash.update(verdict.hash);
    if (verdict.violation === undefined) continue;
    failures += 1;
    report(wishes.trace ? verdict : await shrink(verdict));
  }
  const seconds = cpuSeconds(cpu);
  console.log(
    [
      `${primitive}: ${String(sections)} sections in seeds ${String(wishes.seed)} to ${String(seed - 1)}`,
      `${String(events)} events, ${String(faults)} faults, ${String(failures)} violations`,
      `${String(Math.round(sections / seconds))} sections a CPU-second`,
      `hash ${hash.digest('hex').slice(0, 16)}`,
    ].join('; '),
  );
  return failures;
}

function report({ plan, violation, events }: Verdict): void {
  if (violation === undefined) return;
  console.log(`VIOLATION of "${violation.promise}" at event ${String(events)}: ${violation.text}`);
  console.log(`  npm run simulate -- ${wordsOf(plan)} --trace`);
}

function cpuSeconds(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}
