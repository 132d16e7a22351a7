import type { Mark } from './marks.js';
import type { Timeline } from './timeline.js';
import type { TimeScale } from './time-scale.js';

/** A mark with its word, in one of the lines below its lane. */
export interface Flag {
  readonly mark: Mark;
  readonly text: string;
  readonly x: number;
  readonly textX: number;
  readonly line: number;
}

export interface LaneBox {
  readonly process: number;
  readonly top: number;
  /** The position of the bars; the name is above, the flags are below. */
  readonly body: number;
  readonly bodyHeight: number;
  readonly rowHeight: number;
  /** The top of the flags: a waiting crowd has its own line above them. */
  readonly below: number;
  readonly flags: readonly Flag[];
}

export interface TimelineLayout {
  readonly height: number;
  readonly lockFlags: readonly Flag[];
  readonly lanes: readonly LaneBox[];
  readonly axis: number;
}

export interface Measure {
  readonly width: number;
  readonly scale: TimeScale;
  readonly wordOf: (mark: Mark) => string;
  readonly widthOf: (text: string) => number;
}

export const NAME_HEIGHT = 22;
export const FLAG_HEIGHT = 17;
const AXIS_HEIGHT = 40;
const LANE_GAP = 12;
const ROW_HEIGHT = 26;
/** A lane with more orders draws them thinner. */
const HIGHEST_BODY = 108;
export const CROWD_HEIGHT = 18;

/** The words below a lane are beside each other if there is room, or else one below the other. */
export function layoutTimeline(timeline: Timeline, measure: Measure): TimelineLayout {
  const flagsOf = (process: number | undefined): Flag[] =>
    placed(
      timeline.marks.filter((mark) => mark.process === process),
      measure,
    );
  const lockFlags = flagsOf(undefined);
  let top = NAME_HEIGHT + heightOf(lockFlags);
  const lanes = timeline.lanes.map(({ process, rows }) => {
    const bodyHeight = Math.min(HIGHEST_BODY, Math.max(1, rows) * ROW_HEIGHT);
    const flags = flagsOf(process);
    const body = top + NAME_HEIGHT;
    const hasCrowd = timeline.crowds.some((crowd) => crowd.process === process);
    const below = body + bodyHeight + (hasCrowd ? CROWD_HEIGHT : 0);
    const lane = {
      process,
      top,
      body,
      bodyHeight,
      rowHeight: bodyHeight / Math.max(1, rows),
      below,
      flags,
    };
    top = below + heightOf(flags) + LANE_GAP;
    return lane;
  });
  return { height: top + AXIS_HEIGHT, lockFlags, lanes, axis: top };
}

function heightOf(flags: readonly Flag[]): number {
  return flags.length === 0
    ? 0
    : (Math.max(...flags.map(({ line }) => line)) + 1) * FLAG_HEIGHT + 4;
}

function placed(marks: readonly Mark[], { width, scale, wordOf, widthOf }: Measure): Flag[] {
  const ends: number[] = [];
  return marks.map((mark) => {
    const text = wordOf(mark);
    const long = widthOf(text);
    const x = scale.shareOf(mark.at) * width;
    const textX = Math.max(0, Math.min(x, width - long - 3));
    const free = ends.findIndex((end) => end < textX);
    const line = free < 0 ? ends.length : free;
    ends[line] = textX + long + 12;
    return { mark, text, x, textX, line };
  });
}
