// Read before anything is installed or built: Node built-ins and files like this one only.
import { parseOptions } from './parse.mjs';

const USAGE = 2;

/**
 * The options of this process. Undefined: the help or an error is printed, and the exit code is set.
 */
export function readCommandLine() {
  const parsed = parseOptions(process.argv.slice(2), process.env);
  if (parsed.kind === 'options') return parsed.options;
  if (parsed.kind === 'help') process.stdout.write(`${parsed.text}\n`);
  else {
    process.stderr.write(`${parsed.message}\n`);
    process.exitCode = USAGE;
  }
  return undefined;
}
