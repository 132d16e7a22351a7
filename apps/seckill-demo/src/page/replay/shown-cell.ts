import type { Cell } from '../../arena/cell.js';
import type { Texts } from '../../arena/texts.js';
import type { PageState } from '../state.js';
import { runningCells } from '../state/cells.js';
import type { ReplayWords } from '../words/replay-words.js';

/** The cell that explains the library best: a Lua release alone does not protect a slow holder. */
const SHOWCASE = 'fault/lua-release/slow-work';

/** The chosen cell, or else the cell in play, or else the most instructive one. */
export function shownCell(page: PageState, chosen: string | undefined): string | undefined {
  if (chosen !== undefined && page.cells[chosen] !== undefined) return chosen;
  const running = runningCells(page.cells).at(-1);
  if (running !== undefined) return running;
  if (page.tookMs !== undefined && page.cells[SHOWCASE] !== undefined) return SHOWCASE;
  return Object.keys(page.cells).at(-1);
}

export function titleOf(cell: Cell, words: ReplayWords, texts: Texts): string {
  switch (cell.kind) {
    case 'duel':
      return words.duel(cell.strategy);
    case 'rush':
      return words.rush(cell.strategy, cell.processes);
    case 'fault':
      return words.fault(cell.strategy, oneLine(texts.faults[cell.fault]));
    case 'part':
      return texts.cell(cell);
  }
}

/** Headings of the terminal contain line breaks. Chinese text has no space there. */
export function oneLine(heading: string): string {
  return heading
    .replace(/(?<=[^\x20-\x7e])\n(?=[^\x20-\x7e])|(?<=，)\n/g, '')
    .replaceAll('\n', ' ');
}
