import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/consumers'],
  // The applications run their own specs.
  testPathIgnorePatterns: ['/node_modules/', '/test/consumers/[^/]+/'],
  globalSetup: '<rootDir>/test/consumers/pack.mjs',
  globalTeardown: '<rootDir>/test/consumers/unpack.mjs',
  maxWorkers: 2,
  // Installing takes most of it, and the registry may be slow.
  testTimeout: 300_000,
};
