// Runs before anything is installed: Node built-ins only.

/**
 * How far a step is; undefined while nothing can be counted.
 * @typedef {() => { done: number, total: number, unit: string } | undefined} Measure
 */

/** A shorter step gets no line. */
const PATIENCE_MS = 500;
const REDRAW_MS = 250;
/** Somewhat less than two seconds, which is how long a log may be silent. */
const LINE_MS = 1_800;
const BAR = 24;
const SHORTEST_BAR = 6;

/**
 * The steps that run, the oldest first. A terminal has one line for them, which shows the oldest.
 * @type {Set<object>}
 */
const running = new Set();
/** @type {NodeJS.WriteStream | undefined} the terminal whose last line is not ended */
let unended;

/**
 * Shows that a step goes on: on a terminal by one line that it rewrites, elsewhere by more lines.
 * While several run, it shows the oldest.
 *
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} step
 * @param {{ stream?: NodeJS.WriteStream, measure?: Measure }} [options]
 * @returns {Promise<T>}
 */
export async function withProgress(label, step, { stream = process.stderr, measure } = {}) {
  const startedAt = Date.now();
  const isTerminal = stream.isTTY && process.env.TERM !== 'dumb';
  const me = {};
  running.add(me);
  let shown = 0;
  const show = () => {
    if ([...running][0] !== me) return;
    shown += 1;
    const seconds = `${Math.floor((Date.now() - startedAt) / 1_000)} s`;
    const line = lineOf(label, seconds, measure?.(), isTerminal ? stream.columns || 80 : undefined);
    stream.write(isTerminal ? `\r${line}\x1b[K` : `${line}\n`);
    if (isTerminal) unended = stream;
  };
  let repeat = setTimeout(() => {
    show();
    repeat = setInterval(show, isTerminal ? REDRAW_MS : LINE_MS);
  }, PATIENCE_MS);
  try {
    const result = await step();
    if (shown > 0) show();
    return result;
  } finally {
    clearTimeout(repeat);
    running.delete(me);
    if (shown > 0) endLine();
  }
}

/** The next output does not stand behind the line of a step. */
export function endLine() {
  unended?.write('\n');
  unended = undefined;
}

/**
 * @param {string} label
 * @param {string} seconds
 * @param {ReturnType<Measure>} measured
 * @param {number | undefined} columns of a terminal; a longer line could not be written anew
 */
function lineOf(label, seconds, measured, columns) {
  if (measured === undefined) return [label, seconds].join('  ').slice(0, columns && columns - 1);
  const { done, total, unit } = measured;
  const texts = [`${done} of ${total} ${unit}`, seconds];
  if (columns === undefined) return [label, ...texts].join('  ');
  const room = columns - 1 - [label, '', ...texts].join('  ').length;
  if (room < SHORTEST_BAR) return [label, ...texts].join('  ').slice(0, columns - 1);
  const width = Math.min(BAR, room);
  const full = total === 0 ? 0 : Math.round((width * done) / total);
  return [label, '█'.repeat(full) + '░'.repeat(width - full), ...texts].join('  ');
}
