import { LockError } from 'nestjs-redis-lock/core';
import { report, serve } from './worker.js';

let leak: NodeJS.Timeout | undefined;

const api = {
  add: (a: number, b: number) => a + b,
  library: () => typeof LockError,
  fail: () => {
    throw Object.assign(new TypeError('no'), { code: 'E_NO' });
  },
  hang: () => new Promise<never>(() => undefined),
  say: (value: unknown) => {
    report(value);
  },
  forget: () => {
    void Promise.reject(new Error('forgotten'));
  },
  leak: () => {
    leak = setInterval(() => undefined, 1000);
  },
  clear: () => {
    clearInterval(leak);
  },
  crash: () => {
    setImmediate(() => {
      throw new Error('crashed on purpose');
    });
  },
};
export type Api = typeof api;
serve(api);
