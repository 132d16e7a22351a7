/** `warn`: locks are right, but slower or less safe than they could be; `fail`: they are not. */
export type Status = 'ok' | 'warn' | 'fail';

/** One check of `doctor`, also in its `--json`. */
export interface Finding {
  readonly check: string;
  readonly status: Status;
  /** The finding, as a sentence or as a figure. */
  readonly found: string;
  /** The fix; absent when none is needed. */
  readonly fix?: string;
  /** The server, where several were checked. */
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

/** The user may not ask, so the fact is unknown: neither a defect nor an all-clear. */
export function unchecked(check: string, why: string, fix: string): Finding {
  return warn(check, `could not check: ${why}`, fix);
}

export function worst(findings: readonly Finding[]): Status {
  const statuses = findings.map(({ status }) => status);
  return statuses.includes('fail') ? 'fail' : statuses.includes('warn') ? 'warn' : 'ok';
}
