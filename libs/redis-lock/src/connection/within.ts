import { outOfScope, type Clock } from '../core/time/clock.js';

/** Undefined as soon as the promise takes longer. The timer does not keep the process alive. */
export function within<T>(ms: number, promise: Promise<T>, clock: Clock): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const late = () => {
      resolve(undefined);
    };
    const timer = outOfScope(() => clock.after(ms, late));
    timer?.unref();
    void promise.then(resolve, reject).finally(() => {
      clock.cancel(timer);
    });
  });
}
