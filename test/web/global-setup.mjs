import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import compileAll from '../support/global-setup.mjs';

const RUNS = fileURLToPath(new URL('../../node_modules/.cache/web-tests/', import.meta.url));

/**
 * The browser's profile is a temporary folder. It stays when the tests are killed, so it stands
 * where the next run finds and removes it.
 */
export default async function globalSetup() {
  mkdirSync(RUNS, { recursive: true });
  for (const run of readdirSync(RUNS)) {
    if (!isRunning(Number(run))) rmSync(join(RUNS, run), { recursive: true, force: true });
  }
  process.env.TMPDIR = join(RUNS, String(process.pid));
  mkdirSync(process.env.TMPDIR);
  await compileAll();
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
