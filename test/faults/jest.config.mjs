import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/faults'],
  testPathIgnorePatterns: ['/node_modules/'],
  // Each of these specs wants the machine for itself.
  maxWorkers: 1,
  testTimeout: 180_000,
};
