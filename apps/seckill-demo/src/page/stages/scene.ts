import { svg } from 'lit';
import type { SVGTemplateResult } from 'lit';
import type { PartResult } from '../../arena/parts/part.js';
import type { OrderAnswered, Step } from '../../arena/step.js';

/** One half of a stage: a part of the sale with its lock, or without. */
export interface Scene {
  /** Undefined until all moves are shown. */
  readonly result: PartResult | undefined;
  readonly withLock: boolean;
  /** All processes of the shop in which it is played. */
  readonly processes: number;
  /** The moves so far. */
  readonly steps: readonly Step[];
}

export interface Picture {
  /** Into 260 × 120. */
  readonly draw: (scene: Scene) => SVGTemplateResult;
  readonly isMovedBy: (step: Step) => boolean;
}

export const WIDTH = 260;
export const HEIGHT = 120;

const SCENE_MS = 4_000;
const [SHORTEST_MS, LONGEST_MS] = [40, 700];

/** The time of a move: many moves together take about as long as a few. */
export function moveMs(moves: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, SCENE_MS / Math.max(1, moves)));
}

export function isAnswer(step: Step): step is OrderAnswered & { readonly at: number } {
  return step.kind === 'answered';
}

/** The head of an arrow; ids are valid within one picture only. */
export function head(id: string, look: string): SVGTemplateResult {
  return svg`<marker id=${id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path class=${look} d="M0 0 L8 4 L0 8 z" />
  </marker>`;
}
