// Provides the Java side: Redisson, from Maven. Runs before anything is installed: Node built-ins only.
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const OLDEST_JAVA = 17;

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const JAVA = join(ROOT, 'test', 'interop', 'java');
export const say = (/** @type {string} */ line) => process.stderr.write(`${line}\n`);

/** The missing tool of this machine, or '' */
export async function missing() {
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
export async function build(version) {
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
export function run(command, args, env = {}) {
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
