import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/web'],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/web/global-setup.mjs',
  globalTeardown: '<rootDir>/test/web/global-teardown.mjs',
  // A browser and the demo beside it keep two cores busy, and the first number has a bound.
  maxWorkers: 1,
};
