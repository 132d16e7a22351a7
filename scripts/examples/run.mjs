import { fileURLToPath } from 'node:url';
import { REDISSON_VERSIONS } from '../../test/interop/versions.mjs';
import { importCompiled } from '../compile.mjs';
import { startPostgresServer } from '../postgres-server.mjs';
import { build, missing } from '../redisson.mjs';
import { startRedisServer } from '../redis-server.mjs';
import { Instance } from './instance.mjs';

const ROOT = new URL('../../', import.meta.url);
const UNAVAILABLE = 69;
/** @type {import('./table.mjs').Say} */
const say = (line) => void process.stdout.write(`[run] ${line}\n`);

/**
 * Starts the processes of an example, and waits until all have ended, or until a signal ends them.
 * @param {string} name
 * @param {import('./table.mjs').Example} example
 * @returns {Promise<number>} an exit code
 */
export async function main(name, example) {
  const { closing, serve } = await obeySignals();
  try {
    const instances = await start(name, example, closing);
    serve();
    await example.show?.(instances, say);
    await Promise.all(instances.map(({ over }) => over));
    return 0;
  } catch (error) {
    const { message, exitCode = 1 } = /** @type {Error & { exitCode?: number }} */ (error);
    if (!closing.hasBegun) process.stderr.write(`${message}\n`);
    return exitCode;
  } finally {
    await closing.run();
  }
}

/** Ends an example as the demo ends. */
async function obeySignals() {
  const load = (/** @type {string} */ file) =>
    importCompiled(new URL(`apps/seckill-demo/src/arena/${file}`, ROOT));
  const { Closing } = /** @type {typeof import('../../apps/seckill-demo/src/arena/closing.js')} */ (
    await load('closing.ts')
  );
  const { obeyStopSignals } =
    /** @type {typeof import('../../apps/seckill-demo/src/arena/stop-signals.js')} */ (
      await load('stop-signals.ts')
    );
  const closing = new Closing();
  let isServing = false;
  obeyStopSignals(
    closing,
    () => undefined,
    () => isServing,
  );
  const serve = () => {
    isServing = true;
  };
  return { closing, serve };
}

/**
 * @param {string} name
 * @param {import('./table.mjs').Example} example
 * @param {import('../../apps/seckill-demo/src/arena/closing.js').Closing} closing
 */
async function start(name, { instances, postgres }, closing) {
  const folder = new URL(`examples/${name}/`, ROOT);
  const classPath = Object.values(instances).some((file) => file.endsWith('.java'))
    ? await findRedisson()
    : '';
  const { REDIS_URL, DATABASE_URL } = process.env;
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, REDIS_URL, DATABASE_URL, PORT: '0' };
  if (!REDIS_URL) {
    const server = await startRedisServer();
    closing.add(() => server.stop());
    env['REDIS_URL'] = server.url;
  }
  if (postgres && !DATABASE_URL) {
    const server = await startPostgresServer();
    closing.add(() => server.stop());
    env['DATABASE_URL'] = server.url;
  }
  /** @type {Instance[]} */
  const running = [];
  closing.add(async () => {
    await Promise.all(running.map((instance) => instance.end()));
  });
  say(`examples/${name}; Ctrl-C ends it`);
  for (const [its, main] of Object.entries(instances)) {
    const file = new URL(main, folder);
    const isJava = main.endsWith('.java');
    if (isJava) running.push(Instance.java(its, fileURLToPath(file), classPath, env));
    else running.push(Instance.node(its, file, env));
  }
  await Promise.all(running.map(({ ready }) => ready));
  return running;
}

/** The class path of the newest Redisson; `npm run interop` gives its own. */
async function findRedisson() {
  const given = process.env['REDISSON_CLASSPATH'];
  if (given) return given;
  const lacking = await missing();
  if (!lacking) return build(REDISSON_VERSIONS[0]);
  throw Object.assign(new Error(`This example needs ${lacking} on the PATH.`), {
    exitCode: UNAVAILABLE,
  });
}
