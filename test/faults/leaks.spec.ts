import { describeLeaks } from '../contract/leaks.contract.js';

describeLeaks([
  [
    100_000,
    'attempts on new names that are given up',
    (call, cycles) => call.names(cycles, cycles),
  ],
  [20_000, 'locks that are taken, nested, and given back', (call, cycles) => call.take(cycles)],
]);
