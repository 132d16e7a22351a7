import { FIRST_WITH_LPOS, isOlder } from '../connection/set-up-warnings.js';
import { field } from './answers.js';
import { fail, ok, unchecked, warn, type Finding } from './finding.js';

/** The facts that a server reports. */
export interface Facts {
  /** All of INFO; undefined when Redis refuses it to the user. */
  readonly info: string | undefined;
  /** Some settings of CONFIG, by name; without those that Redis refuses. */
  readonly config: ReadonlyMap<string, string>;
  /** Whether it was checked as a node of a Cluster. */
  readonly asCluster: boolean;
}

/** The settings that need CONFIG GET, since INFO does not have them. */
export const CONFIG = ['appendfsync', 'save', 'min-replicas-to-write'] as const;

/** Judges the settings of a server for locks. */
export function judgeSettings(facts: Facts): Finding[] {
  const { info } = facts;
  if (info === undefined) {
    return ['server', 'role', 'eviction', 'persistence', 'replicas'].map((check) =>
      unchecked(check, 'INFO is refused', 'ACL SETUSER … +info, or use another user'),
    );
  }
  return [
    judgeServer(info),
    judgeRole(info, facts.asCluster),
    judgeEviction(info),
    judgePersistence(info, facts.config),
    judgeReplicas(info, facts.config),
  ];
}

/** The oldest version with support when this was written. */
const CURRENT = [6, 2, 0];

function judgeServer(info: string): Finding {
  const version = field(info, 'redis_version') ?? '';
  const parts = version.split('.').map(Number);
  const dragonfly = field(info, 'dragonfly_version');
  if (dragonfly !== undefined) {
    return warn(
      'server',
      `Dragonfly ${dragonfly}, on which locks are not tested`,
      'start it with --default_lua_flags=allow-undeclared-keys, and run your own tests under load',
    );
  }
  const valkey = field(info, 'valkey_version');
  if (valkey !== undefined) return ok('server', `Valkey ${valkey}`);
  if (/^(mvcc_depth:|executable:.*keydb)/m.test(info)) {
    return warn(
      'server',
      `KeyDB ${version}, on which locks are not tested`,
      'disable active replication: two masters grant one lock twice',
    );
  }
  if (isOlder(parts, FIRST_WITH_LPOS)) {
    const found = `Redis ${version}: fair locks need LPOS of Redis 6.0.6`;
    return fail('server', found, 'upgrade to Redis 7 or Valkey');
  }
  if (isOlder(parts, CURRENT)) {
    return warn('server', `Redis ${version}, which is no longer maintained`, 'upgrade to Redis 7');
  }
  return ok('server', `Redis ${version}`);
}

function judgeRole(info: string, asCluster: boolean): Finding {
  if (field(info, 'role') !== 'master') {
    const found = 'a replica, which cannot grant locks';
    return fail('role', found, 'connect to the master, or through its sentinels');
  }
  if (field(info, 'cluster_enabled') === '1' && !asCluster) {
    return fail(
      'role',
      'a node of a Cluster, checked as a single server',
      'pass RedisLockModule a Cluster, and this command --cluster',
    );
  }
  return ok('role', 'master');
}

function judgeEviction(info: string): Finding {
  const policy = field(info, 'maxmemory_policy');
  if (policy === undefined) {
    return unchecked(
      'eviction',
      'INFO has no maxmemory_policy',
      'check the setting with your provider',
    );
  }
  if (policy === 'noeviction') return ok('eviction', 'noeviction');
  const fix = 'CONFIG SET maxmemory-policy noeviction, or use a separate Redis for the locks';
  if (field(info, 'maxmemory') === '0') {
    const found = `${policy}, without effect while maxmemory is 0`;
    return warn('eviction', found, fix);
  }
  return fail('eviction', `${policy}: Redis may evict a held lock, and grant it again`, fix);
}

function judgePersistence(info: string, config: ReadonlyMap<string, string>): Finding {
  const fix =
    'set appendonly yes, or use replicas with minReplicas; add fencing tokens where a second holder does harm';
  const failed = ['rdb_last_bgsave_status', 'aof_last_write_status'].find(
    (status) => field(info, status) === 'err',
  );
  if (failed !== undefined) {
    const found = `the last attempt to save failed (${failed}): Redis may refuse all writes`;
    return warn(
      'persistence',
      found,
      'check the log of the server; the most frequent cause is a full disk',
    );
  }
  if (field(info, 'aof_enabled') === '1') {
    const fsync = config.get('appendfsync');
    const loses =
      fsync === 'always' ? 'nothing' : fsync === 'no' ? 'what the system has not written yet' : '';
    const what = loses === '' ? 'up to a second' : loses;
    const found = `appendonly, appendfsync ${fsync ?? 'unknown'}: a crash loses ${what}`;
    return fsync === 'no'
      ? warn('persistence', found, 'appendfsync everysec')
      : ok('persistence', found);
  }
  const save = config.get('save');
  if (save === '') {
    const found = 'nothing is saved: a restart loses all locks, even held ones';
    return warn('persistence', found, fix);
  }
  const snapshots = save === undefined ? 'at most snapshots' : `snapshots (save ${save})`;
  const found = `${snapshots}: a crash loses the locks since the last one`;
  return warn('persistence', found, fix);
}

function judgeReplicas(info: string, config: ReadonlyMap<string, string>): Finding {
  const count = Number(field(info, 'connected_slaves') ?? 0);
  const wanted = Number(config.get('min-replicas-to-write') ?? 0);
  const good = Number(field(info, 'min_slaves_good_slaves') ?? count);
  if (wanted > good) {
    return fail(
      'replicas',
      `${String(good)} of the ${String(wanted)} that min-replicas-to-write requires: Redis refuses every lock`,
      'repair the replicas, or lower min-replicas-to-write',
    );
  }
  if (count === 0) return ok('replicas', 'none: minReplicas must be 0');
  const most = `minReplicas may be up to ${String(count)}`;
  if (wanted > 0) {
    return ok('replicas', `${String(count)}, min-replicas-to-write ${String(wanted)}; ${most}`);
  }
  const known = config.has('min-replicas-to-write') ? '0' : 'unknown';
  return warn(
    'replicas',
    `${String(count)}, min-replicas-to-write ${known}: a master that is cut off still grants locks; ${most}`,
    'CONFIG SET min-replicas-to-write 1, and minReplicas: 1 for locks that must survive a failover',
  );
}
