import { runCommandLine } from '../../libs/redis-lock/src/cli/command-line.js';
import type { Terminal } from '../../libs/redis-lock/src/cli/io.js';
import type { Finding } from '../../libs/redis-lock/src/cli/finding.js';
import { systemClock, type Clock } from '../../libs/redis-lock/src/core/time/clock.js';

export interface Outcome {
  code: number;
  out: string;
  err: string;
}

export interface RunOptions {
  env?: Record<string, string>;
  clock?: Clock;
  /** A person is there. */
  terminal?: Terminal;
}

/** The command line as a shell would run it, in this process. */
export async function run(
  args: readonly string[],
  { env = {}, clock = systemClock, terminal }: RunOptions = {},
): Promise<Outcome> {
  const outcome = { code: 0, out: '', err: '' };
  outcome.code = await runCommandLine(args, {
    env,
    clock,
    version: () => '1.2.3',
    ...(terminal !== undefined && { terminal }),
    out: (text) => (outcome.out += text),
    err: (text) => (outcome.err += text),
  });
  return outcome;
}

export interface Diagnosis extends Outcome {
  status: string;
  findings: Finding[];
  /** The findings of one check. */
  of(check: string): Finding[];
}

export async function doctor(
  args: readonly string[],
  options?: Parameters<typeof run>[1],
): Promise<Diagnosis> {
  const outcome = await run(['doctor', '--json', ...args], options);
  const { status, findings } = JSON.parse(outcome.out) as { status: string; findings: Finding[] };
  return {
    ...{ ...outcome, status, findings },
    of: (check) => findings.filter((finding) => finding.check === check),
  };
}
