import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api';

import { listenToLocks } from '../../family/lock-telemetry.js';
import { checkObject, refuseUnknown, refuseValue } from '../../core/api/refuse.js';
import { LockInstruments } from './lock-instruments.js';

/** The receivers of spans and measurements, and their content. */
export interface LockInstrumentationOptions {
  /** @default the global one */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @default the global one at the time of the call */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether spans carry the names of locks as `lock.key`, with any text of users in them.
   * Measurements never do.
   * @default false
   */
  readonly recordNames?: boolean | undefined;
}

const SCOPE = 'nestjs-redis-lock';

/**
 * From now on OpenTelemetry gets the measurements of all locks in this process, and a span for
 * every call that asks for one, as a child of the caller's. Call it once, when the SDK has started
 * and before the application takes its first lock.
 * @returns ends it
 * @throws {LockConfigurationError} an option is unknown, or makes no sense
 */
export function instrumentLocks(options: LockInstrumentationOptions = {}): () => void {
  check(options);
  const { tracerProvider = trace, meterProvider = metrics, recordNames = false } = options;
  const [meter, tracer] = [meterProvider.getMeter(SCOPE), tracerProvider.getTracer(SCOPE)];
  return listenToLocks(new LockInstruments(meter, tracer, recordNames));
}

const OPTIONS = { tracerProvider: 'object', meterProvider: 'object', recordNames: 'boolean' };

function check(options: unknown): void {
  const from = 'instrumentLocks()';
  checkObject(from, options);
  const known = new Map(Object.entries(OPTIONS));
  for (const [option, value] of Object.entries(options)) {
    const type = known.get(option);
    if (type === undefined) refuseUnknown({ [option]: undefined }, [...known.keys()], from);
    if (value === undefined || (typeof value === type && value !== null)) continue;
    refuseValue(from, option, `of the type ${String(type)}`, value);
  }
}
