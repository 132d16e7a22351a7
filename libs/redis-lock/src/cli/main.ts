#!/usr/bin/env node
import { runCommandLine, versionOf } from './command-line.js';
import { terminalOf } from './terminal.js';

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, as `head` does; the probe is released all the same.
    if (error.code !== 'EPIPE') throw error;
  });
}

void runCommandLine(process.argv.slice(2), {
  env: process.env,
  version: () => versionOf(process.argv[1] ?? ''),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  terminal: terminalOf(process.stdin, process.stdout),
}).then((code) => {
  process.exitCode = code;
});
