import type { SVGTemplateResult } from 'lit';
import type { Step } from '../../arena/step.js';
import type { PartResult } from '../../arena/parts/part.js';

/** One half of a stage: a part of the sale with its lock, or without. */
export interface Scene {
  /** Undefined until it has been played. */
  readonly result: PartResult | undefined;
  readonly isRunning: boolean;
  readonly withLock: boolean;
  readonly steps: readonly Step[];
}

/** Draws a scene into 260 × 120. */
export type Picture = (scene: Scene) => SVGTemplateResult;

export const WIDTH = 260;
export const HEIGHT = 120;
