import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { pageOf } from '../support/proofs.js';

it.each(['reports', 'checkout', 'processes', 'application'])(
  'docs/testing.md shows a spec that runs: %s',
  (name) => {
    const spec = new URL(`../nest/testing-examples/${name}.spec.ts`, import.meta.url);
    expect(pageOf('docs/testing.md')).toContain(readFileSync(spec, 'utf8'));
  },
);
