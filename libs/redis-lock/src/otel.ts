export {
  instrumentLocks,
  type LockInstrumentationOptions,
} from './integrations/otel/instrument-locks.js';
