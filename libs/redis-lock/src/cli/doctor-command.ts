import { isReply } from '../connection/reply-error.js';
import { textOf, UnreachableError, within } from './answers.js';
import { examine, type Examination } from './doctor.js';
import { fail, worst, type Finding } from './finding.js';
import { EXIT, MOST_MS, type Run } from './io.js';
import { jsonOf, linesOf } from './report.js';
import type { Server } from '../connection/cli-target.js';

/** Resolves with the exit code. */
export async function runDoctor(
  servers: readonly Server[],
  io: Run,
  checksReady: boolean,
): Promise<number> {
  const findings: Finding[] = [];
  const found = (finding: Finding) => {
    findings.push(finding);
    if (!io.isJson) io.out(linesOf(finding));
  };
  let isReached = true;
  try {
    await within(MOST_MS, 'the check', collect({ ...io, servers, checksReady }, found));
  } catch (error) {
    if (!(error instanceof UnreachableError) && !isReply(error)) throw error;
    isReached = isReply(error);
    const why = io.hide(textOf(error));
    found(fail('connection', why, isReached ? adviceFor(why) : ABSENT));
  }
  const status = worst(findings);
  if (io.isJson) io.out(jsonOf({ version: 1, status, findings }));
  if (!isReached) return EXIT.unreachable;
  return status === 'fail' ? EXIT.broken : EXIT.fine;
}

const ABSENT = 'check that the server runs, and that address, port, TLS and firewall are right';

function adviceFor(refusal: string): string {
  if (/cluster support disabled/i.test(refusal)) return 'remove --cluster: this is a single server';
  if (/no such master/i.test(refusal)) return 'check the name of the master: --sentinel';
  if (/^(LOADING|BUSY|MASTERDOWN|CLUSTERDOWN)/.test(refusal))
    return 'wait until the server is ready';
  return 'check user, password and database: in the url, or in REDIS_USERNAME and REDIS_PASSWORD';
}

async function collect(examination: Examination, found: (finding: Finding) => void): Promise<void> {
  for await (const finding of examine(examination)) found(finding);
}
