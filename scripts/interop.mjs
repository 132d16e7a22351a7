// Plays the real Redisson against the library: `npm run interop`. Needs a JDK and Maven.
//   --record      writes the traces of test/interop/traces anew
//   other words   go to Jest, such as the name of a spec file
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { REDISSON_VERSIONS } from '../test/interop/versions.mjs';

const OLDEST_JAVA = 17;

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const JAVA = join(ROOT, 'test', 'interop', 'java');
const say = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);

/** The missing tool of this machine, or '' */
async function missing() {
  const run = promisify(execFile);
  const java = await run('javac', ['-version']).then(
    ({ stdout, stderr }) => Number(/javac (\d+)/.exec(stdout + stderr)?.[1] ?? 0),
    () => 0,
  );
  if (java < OLDEST_JAVA) return `a JDK of version ${OLDEST_JAVA} or later`;
  const maven = await run('mvn', ['-version']).catch(() => null);
  return maven ? '' : 'Maven (mvn)';
}

/**
 * Builds the Java side for one version of Redisson, unless it is built, outside of the sources.
 * @param {string} version
 * @returns {Promise<string>} its class path
 */
async function build(version) {
  const hash = createHash('sha1').update(await readFile(join(JAVA, 'pom.xml')));
  for (const file of (await readdir(join(JAVA, 'src'))).sort())
    hash.update(await readFile(join(JAVA, 'src', file)));
  const name = `${version}-${hash.digest('hex').slice(0, 8)}`;
  const output = join(ROOT, 'node_modules', '.cache', 'redisson', name);
  const built = join(output, 'built');
  if (!existsSync(built)) {
    say(`Building the Java side for Redisson ${version} …`);
    const options = [`-Dredisson.version=${version}`, `-Doutput=${output}`];
    const code = await run('mvn', ['-B', '-q', '-f', join(JAVA, 'pom.xml'), ...options, 'compile']);
    if (code !== 0) process.exit(code);
    await writeFile(built, '');
  }
  return `${join(output, 'classes')}:${join(output, 'libraries', '*')}`;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {Record<string, string>} [env]
 * @returns {Promise<number>} its exit code
 */
function run(command, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.once('error', reject);
    child.once('close', (code) => {
      resolve(code ?? 1);
    });
  });
}

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
