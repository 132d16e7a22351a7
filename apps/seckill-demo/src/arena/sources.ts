import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StrategyName } from '../strategies/strategy.js';

const FOLDER = 'apps/seckill-demo/src/strategies';

/** The code of each strategy as it is in its source file, not as it is compiled. */
export async function sourcesOf(
  strategies: readonly StrategyName[],
): Promise<Partial<Record<StrategyName, string>>> {
  const sources: Partial<Record<StrategyName, string>> = {};
  for (const strategy of strategies) {
    sources[strategy] = await readFile(inRepository(`${FOLDER}/${strategy}.ts`), 'utf8');
  }
  return sources;
}

/** Where a file of the repository is: the build lies in a folder of it, next to the sources. */
export function inRepository(path: string): string {
  let above = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(above, path))) {
    if (dirname(above) === above) throw new Error(`${path} is missing`);
    above = dirname(above);
  }
  return join(above, path);
}
