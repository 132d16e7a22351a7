import { createInterface } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

import type { Terminal } from './io.js';

/** For terminals that do not report their size. */
const UNKNOWN = { rows: 24, columns: 80 };
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Undefined unless input and output are a terminal. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal | undefined {
  // Behind a pipe there is no such property, although its type declares one.
  if (!(input.isTTY as boolean | undefined) || !(output.isTTY as boolean | undefined))
    return undefined;
  return {
    get rows() {
      return output.rows > 0 ? output.rows : UNKNOWN.rows;
    },
    get columns() {
      return output.columns > 0 ? output.columns : UNKNOWN.columns;
    },
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
    onKey: (listener) => {
      const onData = (chunk: Buffer) => {
        listener(String(chunk));
      };
      const onSignal = () => {
        listener('q');
      };
      input.setRawMode(true).on('data', onData).resume();
      for (const signal of SIGNALS) process.on(signal, onSignal);
      return () => {
        input.off('data', onData).setRawMode(false).pause();
        for (const signal of SIGNALS) process.off(signal, onSignal);
      };
    },
  };
}
