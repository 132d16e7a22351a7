import { LeaseLostError, LockError, LockTimeoutError } from 'nestjs-redis-lock';

export function explain(error: unknown): string {
  if (error instanceof LockTimeoutError) return `busy for at most ${error.retryAfterMs} ms`;
  if (error instanceof LeaseLostError) {
    if (error.reason === 'overtaken') return 'not written: a newer holder has written';
    return `done, but possibly not alone: ${error.reason}`;
  }
  if (error instanceof LockError) return `not done: ${error.code}`;
  throw error;
}
