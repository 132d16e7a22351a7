import { register as globalRegister, type Registry } from 'prom-client';

import { describeValue, LockConfigurationError } from '../../core/api/errors.js';
import { listenToLocks } from '../../nest/lock-telemetry.js';
import { LockMetrics } from './lock-metrics.js';

/**
 * From now on the registry has the metrics of all locks in this process, of every connection. Begin
 * before the application takes its first lock.
 * @param register the global one of prom-client unless given
 * @returns ends it, and takes the metrics out of the registry
 * @throws {LockConfigurationError} the registry has them already, or is none
 */
export function collectLockMetrics(register: Registry = globalRegister): () => void {
  check(register);
  const metrics = new LockMetrics(register);
  const stop = listenToLocks(metrics);
  return () => {
    stop();
    metrics.remove();
  };
}

function check(register: Registry): void {
  if (!isRegistry(register)) {
    throw new LockConfigurationError(
      `collectLockMetrics() takes a Registry of prom-client, not ${describeValue(register)}`,
    );
  }
  if (!LockMetrics.isIn(register)) return;
  throw new LockConfigurationError(
    'The registry has the metrics of locks already: call collectLockMetrics() once in a process, or ' +
      'stop the first by the function that it has returned',
  );
}

function isRegistry(register: unknown): boolean {
  const { getSingleMetric } = (register ?? {}) as Partial<Registry>;
  return typeof getSingleMetric === 'function';
}
