import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/faults'],
  testPathIgnorePatterns: ['/node_modules/'],
  // Most of these specs start several processes.
  maxWorkers: 2,
  testTimeout: 180_000,
};
