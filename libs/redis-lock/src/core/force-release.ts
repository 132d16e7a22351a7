import { describeValue, LockArgumentError } from './api/errors.js';
import { tell } from './api/observer.js';
import { checkLabel, checkOptionNames } from './api/options.js';
import type { Holder, HoldProtocol, Inspection } from './holding/protocol.js';
import { ANSWER_MS } from './redis/connection.js';
import { answerWithin } from './redis/retry.js';
import type { LockContext } from './lock-context.js';
import type { ForceReleaseOptions } from './api/lock.js';
import { processesOf } from './client-record.js';

export const FORCE_OPTIONS = ['reason', 'owners'] as const;

/** @throws {LockArgumentError} an option is unknown, or has a wrong value */
export function checkForceOptions(options: unknown, known: readonly string[]): void {
  if (options === undefined) return;
  checkOptionNames(options, known);
  const { reason, owners } = options as Partial<Record<keyof ForceReleaseOptions, unknown>>;
  checkLabel('reason', reason);
  if (owners !== undefined && !isListOfTexts(owners)) {
    throw new LockArgumentError(
      `owners must be a list of owners of LockMonitor.inspect, not ${describeValue(owners)}`,
    );
  }
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/**
 * Releases the holds of these holders for them, and reports it by an event. Resolves with whether
 * one of them still held the lock.
 * @throws {LockBackendError} Redis did not answer for one of them; the event names those that were
 * released
 */
export async function forceRelease(
  context: LockContext,
  protocol: HoldProtocol,
  name: string,
  { holders, remainingMs }: Inspection,
  { reason, owners }: ForceReleaseOptions = {},
): Promise<boolean> {
  const chosen = holders.filter(({ owner }) => owners?.includes(owner) ?? true);
  const outcomes = await Promise.allSettled(
    chosen.map((holder) => release(context, protocol, name, holder)),
  );
  const lost = chosen.filter((_, i) => {
    const outcome = outcomes[i];
    return outcome?.status === 'fulfilled' && outcome.value;
  });
  if (lost.length > 0) {
    const { observer } = context.settings;
    const { kind } = protocol;
    const why = reason === undefined ? {} : { reason };
    const owners = lost.map(({ owner }) => owner);
    const processOf = await processesOf(context, owners);
    const taken = lost.map((holder) => ({ ...holder, ...processOf(holder.owner) }));
    tell(observer, { type: 'force-released', name, kind, holders: taken, remainingMs, ...why });
  }
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return lost.length > 0;
}

async function release(
  context: LockContext,
  protocol: HoldProtocol,
  name: string,
  { owner }: Holder,
): Promise<boolean> {
  const key = context.keys.key(name);
  // The script names the owner. So a repetition does not free the next owner's lock.
  const { value, resent } = await answerWithin(ANSWER_MS, context, name, () =>
    protocol.release({ key, owner }, 0),
  );
  context.takenAway(key, owner);
  return value !== 'absent' || resent;
}
