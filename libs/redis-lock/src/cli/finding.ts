/** `warn`: locks work, but slower or less safely than they could; `fail`: locks do not work. */
export type Status = 'ok' | 'warn' | 'fail';

/** One check of `doctor`, also in its `--json`. */
export interface Finding {
  readonly check: string;
  readonly status: Status;
  /** The finding: a sentence or a figure. */
  readonly found: string;
  /** The fix; absent when none is needed. */
  readonly fix?: string;
  /** The server, if several were checked. */
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

/**
 * A fact that the user has no right to read, so it is unknown: neither a defect nor an all-clear.
 */
export function unchecked(check: string, why: string, fix: string): Finding {
  return warn(check, `could not check: ${why}`, fix);
}

export function worst(findings: readonly Finding[]): Status {
  const statuses = findings.map(({ status }) => status);
  return statuses.includes('fail') ? 'fail' : statuses.includes('warn') ? 'warn' : 'ok';
}
