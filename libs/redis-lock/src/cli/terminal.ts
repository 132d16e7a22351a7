import { createInterface } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

import type { Terminal } from './io.js';

/** Some terminals do not say how large they are. */
const UNKNOWN = { rows: 24, columns: 80 };
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Undefined unless a person is at both ends. */
export function terminalOf(input: ReadStream, output: WriteStream): Terminal | undefined {
  // Behind a pipe there is no such property, whatever the types say.
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
        // Also by Ctrl-C and Ctrl-D, which answer nothing.
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
