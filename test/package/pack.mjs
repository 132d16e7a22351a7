import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packLibrary } from '../../scripts/library/pack.mjs';

/** Workers inherit the environment. */
export default function pack() {
  const folder = mkdtempSync(join(tmpdir(), 'consumers-'));
  const { tarball, files } = packLibrary(folder);
  process.env.CONSUMERS_FOLDER = folder;
  process.env.LIBRARY_TARBALL = tarball;
  process.env.LIBRARY_FILES = JSON.stringify(files);
}
