import { constants } from 'node:os';
import type { Closing } from './closing.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const PARENT_CHECK_MS = 1_000;

/**
 * The first signal closes everything in order; the second one ends the process at once. For a shop
 * that serves, this is the regular end with exit code 0. Earlier, it is an interruption.
 */
export function obeyStopSignals(
  closing: Closing,
  onStopping: () => void,
  isServing: () => boolean,
): void {
  let isStopping = false;
  const stop = (code: number): void => {
    // Ends the servers by their 'exit' handlers; the caretaker sees to the rest.
    if (isStopping) process.exit(code);
    isStopping = true;
    onStopping();
    void closing.run().then(() => process.exit(code));
  };
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      stop(isServing() ? 0 : 128 + constants.signals[signal]);
    });
  }
  // The reader has closed the pipe, as in `npm run demo | head`.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', () => {
      if (!isStopping) stop(128 + constants.signals.SIGPIPE);
    });
  }
  if (process.env['npm_lifecycle_event'] !== undefined) stopWithoutParent(stop);
}

/** A shell started by npm dies of a signal without forwarding it, so no signal could stop this process. */
function stopWithoutParent(stop: (code: number) => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    stop(128 + constants.signals.SIGHUP);
  }, PARENT_CHECK_MS);
  timer.unref();
}
