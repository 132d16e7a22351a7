import { AsyncLocalStorage } from 'node:async_hooks';
import { TestEnvironment } from 'jest-environment-node';

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
 * Each spec file has its own modules, and so its own storages. Before Node 24 every promise of the
 * process copies the stores of all storages in use: those of earlier files too, and their memory stays.
 */
export default class WithoutOldStorages extends TestEnvironment {
  /** @override */
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
}
