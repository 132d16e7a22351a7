/** `warn`: locks are right, and something is slower or less safe than it could be; `fail`: they are not. */
export type Status = 'ok' | 'warn' | 'fail';

/** What `doctor` prints of one check; the shape of its `--json` too. */
export interface Finding {
  readonly check: string;
  readonly status: Status;
  /** What is so, as a sentence or as a figure. */
  readonly found: string;
  /** What to do about it; absent when nothing has to be done. */
  readonly fix?: string;
  /** The server, where several were looked at. */
  readonly node?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, status: 'ok', found };
}

export function warn(check: string, found: string, fix: string): Finding {
  return { check, status: 'warn', found, fix };
}

export function fail(check: string, found: string, fix: string): Finding {
  return { check, status: 'fail', found, fix };
}

/** Nobody knows, because the user may not ask: that is no defect, and no all-clear either. */
export function unchecked(check: string, why: string, fix: string): Finding {
  return warn(check, `could not check: ${why}`, fix);
}

export function worst(findings: readonly Finding[]): Status {
  const statuses = findings.map(({ status }) => status);
  return statuses.includes('fail') ? 'fail' : statuses.includes('warn') ? 'warn' : 'ok';
}
