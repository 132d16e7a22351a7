import { describe } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findRedisServer } from '../../scripts/find-redis-server.mjs';

const { command, env } = await findRedisServer();
const { stdout } = await promisify(execFile)(command, ['--version'], {
  env: { ...process.env, ...env },
});

/** Such a server has no sharded messages, no counts and ACL rules of subcommands, and fewer options. */
export const isBeforeRedis7 = Number(/\bv=(\d+)/.exec(stdout)?.[1]) < 7;

/** Allows DEBUG, which Redis before 7 always allows. */
export const DEBUG_ALLOWED = isBeforeRedis7 ? [] : ['--enable-debug-command', 'local'];

/**
 * `describe` for specs that ask more than some servers can do. There they are skipped; their names say
 * why, and `npm run matrix` writes the reason into docs/internals/matrix.md.
 */
export function describeUnless(lacks: boolean, reason: string): typeof describe.skip {
  if (!lacks) return describe;
  return ((title: string, specs: () => void) => {
    describe.skip(`${title} [skipped: ${reason}]`, specs);
  }) as typeof describe.skip;
}

export const describeIfSharded = describeUnless(
  isBeforeRedis7,
  'Redis before 7 has no sharded messages',
);
