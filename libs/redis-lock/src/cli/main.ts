#!/usr/bin/env node
import { runCommandLine } from './command-line.js';
import { versionOf } from './version.js';

void runCommandLine(process.argv.slice(2), {
  env: process.env,
  version: () => versionOf(process.argv[1] ?? ''),
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
}).then((code) => {
  process.exitCode = code;
});
