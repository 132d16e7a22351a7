import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import compileAll from '../support/global-setup.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RUNS = fileURLToPath(new URL('../../node_modules/.cache/web-tests/', import.meta.url));

/**
 * The browser's profile is a temporary folder. It stays when the tests are killed, so it stands
 * where the next run finds and removes it. The site is built before any test runs: the build keeps
 * two cores busy, and the browser specs measure times.
 */
export default async function globalSetup() {
  mkdirSync(RUNS, { recursive: true });
  for (const run of readdirSync(RUNS)) {
    if (!isRunning(Number(run))) rmSync(join(RUNS, run), { recursive: true, force: true });
  }
  process.env.TMPDIR = join(RUNS, String(process.pid));
  mkdirSync(process.env.TMPDIR);
  await compileAll();
  // It fails at a link that leads nowhere.
  await promisify(execFile)(process.execPath, ['site/build.mjs'], { cwd: ROOT });
}

/** @param {number} pid */
function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
