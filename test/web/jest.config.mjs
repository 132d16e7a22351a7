import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/web'],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/web/global-setup.mjs',
  globalTeardown: '<rootDir>/test/web/global-teardown.mjs',
  // One spec waits for the demo while the other one draws pages.
  maxWorkers: 2,
};
