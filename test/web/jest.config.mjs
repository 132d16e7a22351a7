import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/web'],
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/web/global-setup.mjs',
  globalTeardown: '<rootDir>/test/web/global-teardown.mjs',
  // A browser keeps a core busy.
  maxWorkers: 2,
};
