// Runs before anything is installed: Node built-ins only.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { withProgress } from './progress.mjs';

const PARENT_CHECK_MS = 1_000;
/** @type {NodeJS.Signals[]} */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** @typedef {{ cwd: string, env?: NodeJS.ProcessEnv | undefined }} Place of a program */

/** A step that failed: what it said, and the code to exit with. */
export class StepError extends Error {
  /**
   * @param {string} said
   * @param {number} exitCode
   */
  constructor(said, exitCode) {
    super(said);
    this.exitCode = exitCode;
  }
}

/**
 * Runs a program to its end, in silence unless it fails.
 * @param {string} label
 * @param {string} command
 * @param {string[]} args
 * @param {Place & { measure?: import('./progress.mjs').Measure }} options
 * @throws {StepError}
 */
export function runStep(label, command, args, { cwd, env, ...progress }) {
  return withProgress(label, () => run(command, args, { cwd, env }), progress);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Place} place
 * @returns {Promise<void>}
 */
function run(command, args, place) {
  const child = spawn(command, args, { ...place, stdio: ['ignore', 'pipe', 'pipe'] });
  // By force: npm would first undo what it has done, and nobody would wait for it.
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (said += String(text)));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      process.off('exit', end);
      if (code === 0) resolve();
      else reject(new StepError(said.trim(), code ?? 1));
    });
  });
}

/**
 * While the steps run, a signal ends this process and the program that runs. A reader that goes
 * away does the same, and so does the end of npm. Its shell does not pass a signal on.
 *
 * @template T
 * @param {() => Promise<T>} steps
 * @returns {Promise<T>}
 */
export async function stoppable(steps) {
  const parent = process.ppid;
  const stop = (/** @type {NodeJS.Signals} */ signal) => {
    process.exit(128 + constants.signals[signal]);
  };
  const lost = () => {
    stop('SIGPIPE');
  };
  const look = () => {
    if (process.env.npm_lifecycle_event !== undefined && process.ppid !== parent) stop('SIGHUP');
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  process.stderr.on('error', lost);
  const watch = setInterval(look, PARENT_CHECK_MS);
  try {
    return await steps();
  } finally {
    look();
    clearInterval(watch);
    process.stderr.off('error', lost);
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}
