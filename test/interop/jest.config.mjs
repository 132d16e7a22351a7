import base from '../../jest.config.mjs';

/** @type {import('jest').Config} */
export default {
  ...base,
  rootDir: '../..',
  roots: ['<rootDir>/test/interop'],
  testRegex: '\\.interop\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
  // Each spec file has Java processes of its own, and waits most of its time.
  maxWorkers: 2,
};
