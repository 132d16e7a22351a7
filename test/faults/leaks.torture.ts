import { describeLeaks } from '../contract/leaks.contract.js';

describeLeaks([
  [20_000, 'attempts on new names that are given up', (call, cycles) => call.names(cycles, cycles)],
  [1_000_000, 'names that are locked once', (call, cycles) => call.use(cycles, cycles)],
  [20_000, 'names that others have', (call, cycles) => call.refuse(cycles, cycles)],
  [10_000, 'names of other kinds of lock', (call, cycles) => call.useAll(cycles, cycles)],
  [20_000, 'locks that are taken, nested, and released', (call, cycles) => call.take(cycles)],
]);
