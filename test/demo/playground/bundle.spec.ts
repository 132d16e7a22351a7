import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { FIRST, STRATEGY_NAMES } from '../../../apps/seckill-demo/src/playground/experiment.js';
import { playgroundWords } from '../../../apps/seckill-demo/src/page/words/playground-words.js';
import { run } from '../../../apps/seckill-demo/src/playground/run.js';
import type * as Engine from '../../../apps/seckill-demo/src/playground/engine.js';
import { pageFiles } from '../../../apps/seckill-demo/src/web/page-files.js';
import { BUNDLE } from '../../../scripts/playground.mjs';

/** A visitor waits for so much, compressed. */
const MOST_BYTES = 250_000;

describe('the bundle of the playground', () => {
  const bundled = import(pathToFileURL(BUNDLE).href) as Promise<typeof Engine>;

  it('imports nothing', () => {
    expect(readFileSync(BUNDLE, 'utf8')).not.toMatch(/^import |\bfrom 'node:|\brequire\(/m);
  });

  it('has at most 250 kB with all other files of the playground', async () => {
    const files = [...(await pageFiles(join(dirname(BUNDLE), '..'))).entries()];
    const own = files.filter(([address]) => address.includes('/playground/'));
    expect(own.length).toBeGreaterThan(10);
    const bytes = own.map(([, file]) => gzipSync(readFileSync(file)).length);
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(MOST_BYTES);
  });

  it.each(STRATEGY_NAMES)(
    'runs as the sources do, whatever stands in for Node: %s',
    async (strategy) => {
      const engine = await bundled;
      const fault = { kind: 'freeze', process: 1, at: 60, ms: 400 } as const;
      for (const seed of [1, 2, 3]) {
        const experiment = { ...FIRST, strategy, seed, faults: [fault] };
        expect((await engine.run(experiment)).hash).toBe((await run(experiment)).hash);
      }
    },
  );

  it.each(['en', 'zh'] as const)('names all that stands in for Node: %s', (language) => {
    const names = playgroundWords[language].standIns.flat().join(' ');
    for (const name of [
      ...['AsyncLocalStorage', 'AsyncResource', 'Buffer', 'crypto', 'diagnostics_channel'],
      ...['process.nextTick', 'setImmediate', 'MessageChannel', 'util', 'os'],
    ]) {
      expect(names).toContain(name);
    }
  });

  it.each(STRATEGY_NAMES)('shows the code that it runs: %s', async (strategy) => {
    const source = (await bundled).sourceOf(strategy);
    expect(source).toContain(strategy);
    expect(source).toContain('async function sellOne(shop, { read, write } = plain(shop)) {');
    expect(source).toMatch(/\nconst (asserted|guarded|plain) = \(/);
  });
});
