import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of the package of this file, wherever a link to it may be. */
export function versionOf(file: string): string {
  let folder = dirname(realpathSync(file));
  while (dirname(folder) !== folder) {
    const { name, version } = manifestIn(folder);
    if (name === 'nestjs-redis-lock' && version !== undefined) return version;
    folder = dirname(folder);
  }
  return 'unknown';
}

function manifestIn(folder: string): { name?: string; version?: string } {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8');
    return JSON.parse(text) as { name?: string; version?: string };
  } catch {
    return {};
  }
}
