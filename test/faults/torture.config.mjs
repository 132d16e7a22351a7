import faults from './jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...faults,
  testRegex: '\\.torture\\.ts$',
  maxWorkers: 1,
  testTimeout: 24 * 60 * 60 * 1_000,
};
