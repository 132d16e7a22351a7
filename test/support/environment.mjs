import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { TestEnvironment } from 'jest-environment-node';

const PHASES = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'];

/**
 * The whole process shares them. With a listener left, the library takes other turns in later files.
 * Each file makes them anew. Node 20 may forget a new one when it collects the old one of that name,
 * so the old ones are held here.
 */
const CHANNELS = [
  ...PHASES.map((phase) => `tracing:nestjs-redis-lock:acquire:${phase}`),
  ...PHASES.map((phase) => `tracing:ioredis:command:${phase}`),
  ...['nestjs-redis-lock:event', 'seckill-demo:order'],
  ...['seckill-demo:reconciled', 'seckill-demo:stale-refused'],
].map((name) => channel(name));

const heard = () =>
  CHANNELS.filter(({ hasSubscribers }) => hasSubscribers).map(({ name }) => String(name));

/** @type {Set<AsyncLocalStorage<unknown>>} */
const used = new Set();

for (const method of /** @type {const} */ (['run', 'enterWith'])) {
  const original = /** @type {(...args: unknown[]) => unknown} */ (
    AsyncLocalStorage.prototype[method]
  );
  AsyncLocalStorage.prototype[method] =
    /** @this {AsyncLocalStorage<unknown>} @param {unknown[]} args */
    function (...args) {
      used.add(this);
      return original.apply(this, args);
    };
}

/**
 * A spec file leaves no listeners.
 *
 * Each spec file has its own modules, and so its own storages. Before Node 24 every promise of the
 * process copies the stores of all storages in use: those of earlier files too, and their memory stays.
 */
export default class WithoutLeftovers extends TestEnvironment {
  #had = heard();

  /** @override */
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
    const left = heard().filter((name) => !this.#had.includes(name));
    if (left.length > 0) throw new Error(`the spec file leaves listeners of ${left.join(' and ')}`);
  }
}
