import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { FULL, QUICK } from './pace.mjs';
import { SCENARIO_FILES } from './scenarios.mjs';

const NAMES = Object.keys(SCENARIO_FILES);

export const USAGE = `npm run bench -- [options]

  --scenario LIST    some of ${NAMES.join(', ')}; default: all
  --rounds N         the number of rounds; the figures are their medians; default: ${FULL.rounds}
  --warm-up MS       how long each process uses its locks before the measurement;
                     default: until its rate stops rising, at most ${FULL.longestWarmUpMs}
  --quick            run one round of short windows, only to check that everything works
  --no-peers         leave out other libraries
  --lockers LIST     use only these files of bench/lockers/; "nothing" locks nothing, to test the checks
  --locker-file FILE add a locker from a module outside the bench; you can repeat this option
  --json [FILE]      write all measures as JSON, to the file or to standard output
  --chart FOLDER     write the headlines as bars into bench.light.svg and bench.dark.svg
  --help`;

export class UsageError extends Error {}

/**
 * @typedef {object} Options
 * @property {string[]} scenarios
 * @property {string[] | undefined} lockers
 * @property {string[]} lockerFiles modules outside the bench
 * @property {boolean} peers
 * @property {import('./pace.mjs').Pace} pace
 * @property {string | undefined} json a file, or '-' for standard output
 * @property {string | undefined} chart a folder
 * @property {boolean} help
 */

/** @returns {Options} */
export function readOptions(args) {
  const { values } = parse(args);
  const pace = values.quick ? QUICK : FULL;
  return {
    scenarios: scenariosOf(values.scenario),
    lockers: listOf(values.lockers),
    lockerFiles: lockerFilesOf(values['locker-file']),
    peers: values['no-peers'] !== true,
    pace: {
      ...pace,
      rounds: wholeNumber('--rounds', values.rounds, 1) ?? pace.rounds,
      warmUpMs: wholeNumber('--warm-up', values['warm-up'], 0) ?? pace.warmUpMs,
    },
    json: values.json,
    chart: values.chart,
    help: values.help ?? false,
  };
}

function parse(args) {
  try {
    return parseArgs({
      args: withFileOfJson(args),
      options: {
        scenario: { type: 'string' },
        rounds: { type: 'string' },
        'warm-up': { type: 'string' },
        quick: { type: 'boolean' },
        lockers: { type: 'string' },
        'locker-file': { type: 'string', multiple: true },
        'no-peers': { type: 'boolean' },
        json: { type: 'string' },
        chart: { type: 'string' },
        help: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error.message);
  }
}

/** `--json` needs no file. */
function withFileOfJson(args) {
  return args.flatMap((arg, i) => {
    const isAlone = arg === '--json' && (args[i + 1] ?? '--').startsWith('--');
    return isAlone ? ['--json=-'] : [arg];
  });
}

function scenariosOf(list) {
  const wanted = listOf(list)?.map((name) => name.toLowerCase());
  const unknown = wanted?.filter((name) => !NAMES.some((known) => known.toLowerCase() === name));
  if (unknown?.length) throw new UsageError(`Unknown scenario: ${unknown.join(', ')}`);
  return NAMES.filter((name) => wanted?.includes(name.toLowerCase()) ?? true);
}

/** The names of the files distinguish them. */
function lockerFilesOf(files = []) {
  const names = files.map((file) => basename(file));
  const bad = files.find((file, i) => !existsSync(file) || names.indexOf(names[i]) !== i);
  if (bad === undefined) return files;
  throw new UsageError(
    `--locker-file ${bad}: there is no such file, or another file has the same name`,
  );
}

function wholeNumber(option, text, least) {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== '' && Number.isInteger(number) && number >= least) return number;
  throw new UsageError(`${option} must be a whole number of at least ${least}`);
}

const listOf = (text) => text?.split(',').map((name) => name.trim());
