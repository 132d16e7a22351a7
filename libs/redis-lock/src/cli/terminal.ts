import { createInterface } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

import type { Terminal } from './io.js';

/** Undefined unless input and output are a terminal. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal | undefined {
  // Behind a pipe there is no such property, although its type declares one.
  if (!(input.isTTY as boolean | undefined) || !(output.isTTY as boolean | undefined))
    return undefined;
  return {
    ask: (question) =>
      new Promise((resolve) => {
        const lines = createInterface({ input, output });
        let answer = '';
        lines.question(question, (line) => {
          answer = line;
          lines.close();
        });
        // Also on Ctrl-C and Ctrl-D, without a line.
        lines.once('close', () => {
          resolve(answer);
        });
      }),
  };
}
