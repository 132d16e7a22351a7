import vm from 'node:vm';
import { WORKERS } from './scripts/redis-server.mjs';
import { swcOptions } from './scripts/swc-options.mjs';

if (typeof vm.SourceTextModule !== 'function') {
  throw new Error(
    'Run "npm test" or "npx jest" from the repository root: .npmrc passes --experimental-vm-modules.',
  );
}

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  // Those of the packed library have a run of their own.
  testPathIgnorePatterns: [
    '/node_modules/',
    '/test/faults/',
    '/test/web/',
    '/test/package/(contents|nest-|without-nest)',
  ],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  // A copy, because @swc/jest writes into its options.
  transform: { '^.+\\.ts$': ['@swc/jest', structuredClone(swcOptions)] },
  moduleNameMapper: {
    '^nestjs-redis-lock$': '<rootDir>/libs/redis-lock/src/index.ts',
    '^nestjs-redis-lock/(.*)$': '<rootDir>/libs/redis-lock/src/$1.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  testSequencer: '<rootDir>/test/support/longest-first.mjs',
  maxWorkers: WORKERS,
  // A worker keeps memory of each spec file, and is replaced beyond this. Two cores have six workers.
  workerIdleMemoryLimit: '700MB',
  // Ends a test that stands still. A test with a promised bound has it itself.
  testTimeout: 300_000,
  waitForUnhandledRejections: true,
  coverageProvider: 'v8',
  collectCoverageFrom: ['libs/*/src/**/*.ts'],
};
