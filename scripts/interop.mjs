// Plays the real Redisson against the library: `npm run interop`. Needs a JDK and Maven.
//   --record      writes the traces of test/interop/traces anew
//   other words   go to Jest, such as the name of a spec file
import { join } from 'node:path';
import { REDISSON_VERSIONS } from '../test/interop/versions.mjs';
import { build, missing, ROOT, run, say } from './redisson.mjs';

const lacking = await missing();
if (lacking) {
  say(`npm run interop was skipped: it needs ${lacking} on the PATH.`);
  process.exit(0);
}
const words = process.argv.slice(2);
const record = words.includes('--record') ? { REDISSON_RECORD: '1' } : undefined;
const jest = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
const config = join('test', 'interop', 'jest.config.mjs');
const others = words.filter((word) => word !== '--record');

const ready = await run(process.execPath, [join(ROOT, 'scripts', 'setup.mjs'), '--redis']);
if (ready !== 0) process.exit(ready);
const begun = Date.now();
/** @type {string[]} */
const failed = [];
for (const version of REDISSON_VERSIONS) {
  const env = { REDISSON_VERSION: version, REDISSON_CLASSPATH: await build(version), ...record };
  say(`=== Redisson ${version}`);
  const code = await run(process.execPath, [jest, '--config', config, ...others], env);
  if (code !== 0) failed.push(version);
}
const seconds = Math.round((Date.now() - begun) / 1_000);
if (failed.length > 0) process.exitCode = 1;
const outcome = failed.length > 0 ? `FAILED with Redisson ${failed.join(' and ')}` : 'passed';
say(`npm run interop ${outcome}: Redisson ${REDISSON_VERSIONS.join(' and ')}, in ${seconds} s.`);
