import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { arch, cpus, platform, release } from 'node:os';

const require = createRequire(import.meta.url);

/**
 * The cores of Redis and, in a split trial, of its clients.
 * @typedef {{ redis: number, clients: number }} Cores
 */

/** @returns {Cores | null} null if this machine cannot pin processes to cores */
export function findCores() {
  const { status, stdout } = spawnSync('taskset', ['-cp', String(process.pid)], {
    encoding: 'utf8',
  });
  if (status !== 0) return null;
  const [first, second] = coresIn(stdout.slice(stdout.lastIndexOf(':') + 1));
  return second === undefined ? null : { redis: first, clients: second };
}

/** @param {string} list such as `0,2-5` */
function coresIn(list) {
  return list.split(',').flatMap((range) => {
    const [from, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Pins a process, with all its threads, to one core. */
export function pin(pid, core) {
  const { status, stderr } = spawnSync('taskset', ['-acp', String(core), String(pid)], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Process ${pid} cannot be pinned to core ${core}: ${stderr}`);
}

/**
 * @param {Cores | null} cores
 * @param {string} redisVersion
 */
export function describeMachine(cores, redisVersion) {
  const [cpu] = cpus();
  const where = cores
    ? `Redis on core ${cores.redis}, clients on core ${cores.clients} (split) or on the core of Redis (same core)`
    : 'processes NOT pinned to cores: p50 and ratios of A and E mean little';
  return {
    node: process.version,
    redis: redisVersion,
    versions: installedVersions(),
    system: `${platform()} ${release()} ${arch()}`,
    cpu: `${cpus().length} × ${cpu?.model ?? 'unknown'}`,
    pinned: cores !== null,
    where,
  };
}

/** @returns {Record<string, string>} the versions of all lockers and of ioredis */
function installedVersions() {
  const { dependencies } = require('./package.json');
  const { version } = require('ioredis/package.json');
  return { ...dependencies, ioredis: version };
}
