import {
  metrics,
  SpanStatusCode,
  trace,
  type MeterProvider,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';

import { describeValue, LockConfigurationError, LockError } from '../../core/api/errors.js';
import { isPlainObject } from '../../core/api/shapes.js';
import {
  listenToLocks,
  type LockAcquisition,
  type LockLabels,
  type LockListener,
} from '../../nest/lock-telemetry.js';
import type { LockEventMessage } from '../../nest/event-channel.js';
import { attributesOf, LockInstruments } from './lock-instruments.js';

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
  const instruments = new LockInstruments(meterProvider.getMeter(SCOPE));
  return listenToLocks(
    new Instrumentation(instruments, tracerProvider.getTracer(SCOPE), recordNames),
  );
}

class Instrumentation implements LockListener<Span> {
  constructor(
    private readonly instruments: LockInstruments,
    private readonly tracer: Tracer,
    private readonly recordNames: boolean,
  ) {}

  asked(labels: LockLabels, name: string): Span {
    this.instruments.asked(labels);
    const key = this.recordNames ? { 'lock.key': name } : {};
    const attributes = { ...attributesOf(labels), ...key };
    return this.tracer.startSpan(`lock.acquire ${labels.lock}`, { attributes });
  }

  answered(span: Span, labels: LockLabels, acquisition: LockAcquisition): void {
    this.instruments.answered(labels, acquisition);
    const { outcome, error } = acquisition;
    span.setAttribute('outcome', outcome);
    if (error !== undefined && outcome !== 'aborted') {
      // Messages have the name of the lock in them.
      const code = error instanceof LockError ? error.code : '_OTHER';
      span.setAttribute('error.type', code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: code });
    }
    span.end();
  }

  held(labels: LockLabels, change: 1 | -1): void {
    this.instruments.held(labels, change);
  }

  happened(event: LockEventMessage): void {
    this.instruments.happened(event);
  }
}

const OPTIONS = { tracerProvider: 'object', meterProvider: 'object', recordNames: 'boolean' };

function check(options: unknown): void {
  if (!isPlainObject(options))
    refuse(`the options must be a plain object, not ${describeValue(options)}`);
  const known = new Map(Object.entries(OPTIONS));
  for (const [option, value] of Object.entries(options)) {
    const type = known.get(option);
    const isRight = typeof value === type && value !== null;
    if (type !== undefined && (value === undefined || isRight)) continue;
    refuse(
      type === undefined
        ? `unknown option ${describeValue(option)}; the options are ${Object.keys(OPTIONS).join(', ')}`
        : `${option} must be of the type ${type}, not ${describeValue(value)}`,
    );
  }
}

function refuse(problem: string): never {
  throw new LockConfigurationError(`instrumentLocks(): ${problem}`);
}
