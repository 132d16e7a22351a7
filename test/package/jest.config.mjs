import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/package'],
  // The applications run their own specs, and npm test those that need no package.
  testRegex: '/test/package/(contents|nest-[^/]+|without-nest)\\.spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
  globalSetup: '<rootDir>/test/package/pack.mjs',
  globalTeardown: '<rootDir>/test/package/unpack.mjs',
  maxWorkers: 2,
};
