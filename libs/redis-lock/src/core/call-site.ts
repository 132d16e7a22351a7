import { quoteName } from './api/errors.js';

/** A frame in this file: `…/core/call-site.ts:5:7`, or in the package `…/esm/chunks/core.js:5:7`. */
const THIS_FILE =
  /\(?([^\s(]*)(?:core[/\\]call-site\.[cm]?[jt]s|(?<=[/\\](?:esm|cjs)[/\\])chunks[/\\]core\.js):\d+:\d+\)?$/;
/** Frames of V8, of Node, and of packages. The library's users seek their own code. */
const FOREIGN = /<anonymous>\)?$|\(?node:|[/\\]node_modules[/\\]/;
/** A caller may stand behind many frames of this library, of Nest and of a queue. */
const FRAMES = 50;

/** The place of the call that is under way: its stack. Node makes the text only for a reader. */
export function presentCallSite(message: string): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  try {
    return new Error(message);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * The frame of the application that made the call, as in `at pay (/app/shop.js:5:7)`. Nest calls
 * handlers from no such frame: then the label.
 */
export function frameOf(place: Error | undefined, label: string | undefined): string | undefined {
  if (place === undefined) return undefined;
  const lines = String(place.stack)
    .split('\n')
    .map((line) => line.trim());
  const frames = lines.filter((line) => line.startsWith('at '));
  const [, library] = THIS_FILE.exec(frames[0] ?? '') ?? [];
  const callers = frames.filter((frame) => library === undefined || !frame.includes(library));
  const own = callers.find((frame) => !FOREIGN.test(frame));
  return own ?? (label === undefined ? callers[0] : `under the label ${quoteName(label)}`);
}
