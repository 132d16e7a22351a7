import vm from 'node:vm';
import { swcOptions } from './test/support/swc-options.mjs';

if (typeof vm.SourceTextModule !== 'function') {
  throw new Error(
    'Run "npm test" or "npx jest" from the repository root: .npmrc passes --experimental-vm-modules.',
  );
}

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/libs', '<rootDir>/apps', '<rootDir>/test'],
  testRegex: '\\.spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/', '/test/faults/'],
  modulePathIgnorePatterns: ['/dist/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': ['@swc/jest', swcOptions] },
  moduleNameMapper: {
    '^nestjs-redis-lock$': '<rootDir>/libs/redis-lock/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  coverageProvider: 'v8',
  collectCoverageFrom: ['libs/*/src/**/*.ts'],
};
