import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api';

import { listenToLocks } from '../../family/lock-telemetry.js';
import { checkObject, refuseUnknown, refuseValue } from '../../core/api/refuse.js';
import { LockInstruments } from './lock-instruments.js';

/** Where spans and measurements go, and what they contain. */
export interface LockInstrumentationOptions {
  /** @default the global one */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @default the global one at the time of the call */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Whether spans contain lock names as `lock.key`, including text of users. Measurements never do.
   * @default false
   */
  readonly recordNames?: boolean | undefined;
}

const SCOPE = 'nestjs-redis-lock';

/**
 * Sends OpenTelemetry the measurements of all locks in this process. Also adds a span for every
 * call for a lock, as a child of the caller's. Call it once, after the SDK has started and before
 * the first lock is acquired.
 * @returns a function that ends it
 * @throws {LockConfigurationError} an option is unknown, or its value cannot be used
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
