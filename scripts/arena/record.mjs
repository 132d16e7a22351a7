// Records a run of each cell for the page that replays it without a server.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RECORDING, stepsIn } from './recording.mjs';

/** @typedef {import('../../apps/seckill-demo/src/arena/step.js').Step} Step */

const DEMO = fileURLToPath(new URL('../demo.mjs', import.meta.url));
/** The duel has all of its buyers. The other cells have fewer, so that the file stays small. */
const DUEL = ['--strategies', 'naive,redis-lock', '--faults', 'none', '--parts', 'none'];
const CELLS = ['--stock', '10', '--buyers', '30'];

/**
 * @param {readonly string[]} args
 * @returns {Step[]}
 */
function run(args) {
  const folder = mkdtempSync(join(tmpdir(), 'recording-'));
  const file = join(folder, 'run.ndjson');
  try {
    const all = [DEMO, '--check', '--record', file, ...args];
    const { status } = spawnSync(process.execPath, all, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error('a cell was not as published; nothing is recorded');
    return stepsIn(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const isOf = (/** @type {Step} */ step, /** @type {string} */ kind) =>
  'cell' in step && step.cell !== undefined && step.cell.startsWith(`${kind}/`);
const isOfDuel = (/** @type {Step} */ step) => isOf(step, 'duel');
const isAtTheDoors = (/** @type {Step} */ step) => step.kind === 'passed' && step.point === 'doors';
/** There are as many as buyers, and no picture shows them. */
const isSpare = (/** @type {Step} */ step) =>
  (isOf(step, 'rush') && (step.kind === 'lock' || isAtTheDoors(step))) ||
  (isOfDuel(step) && ['passed', 'lock', 'key'].includes(step.kind));

const duel = run(DUEL);
const cells = run(CELLS);
const kept = [...duel.filter((step) => isOfDuel(step) && !isSpare(step)), ...withoutDuel()].sort(
  (a, b) => a.at - b.at,
);
writeFileSync(RECORDING, kept.map((step) => `${JSON.stringify(step)}\n`).join(''));

/** The other cells begin when the duel has ended. */
function withoutDuel() {
  const first = cells.find((step) => step.kind === 'cell-began' && !isOfDuel(step));
  const shift = Math.max(...duel.filter(isOfDuel).map(({ at }) => at)) - (first?.at ?? 0);
  return cells
    .filter((step) => !isOfDuel(step) && !isSpare(step))
    .map((step) => {
      const at = Math.max(0, Math.round((step.at + shift) * 10) / 10);
      if (step.kind !== 'run-began') return { ...step, at };
      const began = duel.find(({ kind }) => kind === 'run-began');
      const { stock, buyers } = began?.kind === 'run-began' ? began : step;
      return { ...step, at: 0, stock, buyers };
    });
}
