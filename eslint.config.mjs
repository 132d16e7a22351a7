import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';
import walls from './scripts/eslint-walls.mjs';

const SOURCES = ['libs/*/src/**/*.ts', 'apps/*/src/**/*.ts', 'examples/**/*.ts'];
const SPECS = ['**/*.spec.ts', 'test/**'];

export default defineConfig(
  // Vitest is installed in the consumer alone.
  { ignores: ['**/dist/', 'coverage/', 'site/.vitepress/.temp/', 'test/package/*/vitest/'] },
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    plugins: { walls },
    rules: {
      'walls/rooms': 'error',
      eqeqeq: 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // It rejects the option literals of NestFactory.create(Module, { ... }).
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
    },
  },
  {
    files: [...SOURCES, 'bench/**'],
    ignores: SPECS,
    rules: {
      'max-lines-per-function': ['error', { max: 40, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: SPECS,
    rules: {
      // expect(spy.method) is how Jest is asked about a method.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      // Of a decorated method the signature counts.
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none', ignoreRestSiblings: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    },
  },
  {
    // Benchmarks import the built library, which need not be there; the others have packages of their own.
    files: [
      ...['**/*.config.mjs', 'scripts/eslint-walls.mjs', 'bench/**'],
      'test/package/{nest-*,without-nest}/**',
      'test/web/**',
      'site/**',
    ],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { console: 'readonly', process: 'readonly' } },
    // TypeScript checks the JSDoc types of these files, and knows the globals of Node.
    rules: { 'no-undef': 'off' },
  },
);
