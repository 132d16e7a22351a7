import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { npmCommand } from '../npm.mjs';
import { LIBRARY } from './surface.mjs';

/**
 * Packs what was built, as `npm publish` would.
 * @param {string} folder where the file is to be
 * @returns {{ tarball: string, size: number, files: string[] }} its path, its size in bytes, and what is in it
 */
export function packLibrary(folder) {
  const options = ['--json', '--loglevel=error', '--pack-destination', folder];
  const { status, stdout, stderr } = spawnSync(...npmCommand('pack', ...options), {
    cwd: LIBRARY,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`npm pack: ${stdout}${stderr}`);
  /** @type {unknown} */
  const answer = JSON.parse(stdout);
  const [{ filename, size, files }] =
    /** @type {[{ filename: string, size: number, files: { path: string }[] }]} */ (answer);
  return { tarball: join(folder, filename), size, files: files.map(({ path }) => path) };
}
