import { FIRST_WITH_LPOS, isOlder } from '../ioredis/set-up-warnings.js';
import { field } from './answers.js';
import { fail, ok, unchecked, warn, type Finding } from './finding.js';

/** The facts that a server reports. */
export interface Facts {
  /** All of INFO; undefined when the user may not ask. */
  readonly info: string | undefined;
  /** Some settings of CONFIG, by name; without those that the user may not ask for. */
  readonly config: ReadonlyMap<string, string>;
  /** Whether it was asked as a node of a Cluster. */
  readonly asCluster: boolean;
}

/** The settings that need CONFIG GET, as INFO does not have them. */
export const CONFIG = ['appendfsync', 'save', 'min-replicas-to-write'] as const;

/** Judges the settings of a server for locks. */
export function judgeSettings(facts: Facts): Finding[] {
  const { info } = facts;
  if (info === undefined) {
    return ['server', 'role', 'eviction', 'persistence', 'replicas'].map((check) =>
      unchecked(check, 'INFO is refused', 'ACL SETUSER … +info, or ask with another user'),
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
      `Dragonfly ${dragonfly}, on which the locks were not tried`,
      'start it with --default_lua_flags=allow-undeclared-keys, and run your own tests under load',
    );
  }
  const valkey = field(info, 'valkey_version');
  if (valkey !== undefined) return ok('server', `Valkey ${valkey}`);
  if (/^(mvcc_depth:|executable:.*keydb)/m.test(info)) {
    return warn(
      'server',
      `KeyDB ${version}, on which the locks were not tried`,
      'do not use active replication: two masters grant one lock twice',
    );
  }
  if (isOlder(parts, FIRST_WITH_LPOS)) {
    const found = `Redis ${version}: fair locks need LPOS of Redis 6.0.6`;
    return fail('server', found, 'upgrade to Redis 7 or Valkey');
  }
  if (isOlder(parts, CURRENT)) {
    return warn('server', `Redis ${version}, which gets no fixes any more`, 'upgrade to Redis 7');
  }
  return ok('server', `Redis ${version}`);
}

function judgeRole(info: string, asCluster: boolean): Finding {
  if (field(info, 'role') !== 'master') {
    const found = 'a replica, where no lock can be taken';
    return fail('role', found, 'connect to the master, or by way of its sentinels');
  }
  if (field(info, 'cluster_enabled') === '1' && !asCluster) {
    return fail(
      'role',
      'a node of a Cluster, asked as if it stood alone',
      'give RedisLockModule a Cluster of ioredis, and this command --cluster',
    );
  }
  return ok('role', 'master');
}

function judgeEviction(info: string): Finding {
  const policy = field(info, 'maxmemory_policy');
  if (policy === undefined) {
    return unchecked('eviction', 'INFO has no maxmemory_policy', 'look at it with your provider');
  }
  if (policy === 'noeviction') return ok('eviction', 'noeviction');
  const fix = 'CONFIG SET maxmemory-policy noeviction, or a Redis of their own for the locks';
  if (field(info, 'maxmemory') === '0') {
    const found = `${policy}, without effect as long as maxmemory is 0`;
    return warn('eviction', found, fix);
  }
  return fail('eviction', `${policy}: a lock that is held may be evicted, and granted again`, fix);
}

function judgePersistence(info: string, config: ReadonlyMap<string, string>): Finding {
  const fix =
    'set appendonly yes, or use replicas with minReplicas; and fencing tokens where a second holder does harm';
  const failed = ['rdb_last_bgsave_status', 'aof_last_write_status'].find(
    (status) => field(info, status) === 'err',
  );
  if (failed !== undefined) {
    const found = `the last attempt to save failed (${failed}): Redis may refuse all writes`;
    return warn(
      'persistence',
      found,
      'look into the log of the server, most often for a full disk',
    );
  }
  if (field(info, 'aof_enabled') === '1') {
    const fsync = config.get('appendfsync');
    const loses =
      fsync === 'always' ? 'nothing' : fsync === 'no' ? 'what the system kept back' : '';
    const what = loses === '' ? 'up to a second' : loses;
    const found = `appendonly, appendfsync ${fsync ?? 'unknown'}: a crash loses ${what}`;
    return fsync === 'no'
      ? warn('persistence', found, 'appendfsync everysec')
      : ok('persistence', found);
  }
  const save = config.get('save');
  if (save === '') {
    const found = 'nothing is saved: a restart forgets all locks, held ones too';
    return warn('persistence', found, fix);
  }
  const snapshots = save === undefined ? 'snapshots at most' : `snapshots (save ${save})`;
  const found = `${snapshots}: a crash forgets the locks since the last one`;
  return warn('persistence', found, fix);
}

function judgeReplicas(info: string, config: ReadonlyMap<string, string>): Finding {
  const count = Number(field(info, 'connected_slaves') ?? 0);
  const wanted = Number(config.get('min-replicas-to-write') ?? 0);
  const good = Number(field(info, 'min_slaves_good_slaves') ?? count);
  if (wanted > good) {
    return fail(
      'replicas',
      `${String(good)} of the ${String(wanted)} that min-replicas-to-write asks for: Redis refuses every lock`,
      'look after the replicas, or lower min-replicas-to-write',
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
    `${String(count)}, min-replicas-to-write ${known}: a master that is cut off goes on granting; ${most}`,
    'CONFIG SET min-replicas-to-write 1, and minReplicas: 1 for locks that must outlive the master',
  );
}
