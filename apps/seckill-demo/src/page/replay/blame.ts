import type { Outcome } from '../../arena/cell.js';
import type { Language } from '../../arena/texts.js';
import type { StrategyName } from '../../strategies/strategy.js';

/** The line that decides an outcome, by a text in it, and the reason. */
export interface Blame {
  readonly line: string;
  readonly isHarm: boolean;
  readonly why: Readonly<Record<Language, string>>;
}

interface Rule extends Omit<Blame, 'isHarm'>, Partial<Pick<Blame, 'isHarm'>> {
  readonly strategies: readonly StrategyName[];
  readonly outcomes: readonly Outcome[];
}

const FIXED_LEASE: readonly StrategyName[] = [
  'setnx-expire',
  'set-nx-px',
  'owner-check',
  'lua-release',
];
const IMPATIENT: readonly StrategyName[] = ['setnx', ...FIXED_LEASE];

const RULES: readonly Rule[] = [
  {
    strategies: ['naive'],
    outcomes: ['oversells'],
    line: 'this.sale.sellOne(',
    why: {
      en: 'No lock keeps the second buyer out between the read and the write.',
      zh: '读库存与写库存之间没有锁，第二个买家可以同时进入。',
    },
  },
  {
    strategies: ['in-process'],
    outcomes: ['oversells'],
    line: 'this.#mutex.runExclusive(',
    why: {
      en: 'The mutex is in the memory of one process. The other process has its own mutex.',
      zh: '互斥锁只存在于单个进程的内存中，另一个进程使用的是自己的互斥锁。',
    },
  },
  {
    strategies: IMPATIENT,
    outcomes: ['undersells'],
    line: 'return this.sale.busy()',
    why: {
      en: 'A buyer that does not get the lock leaves, although there is stock.',
      zh: '没有获取到锁的买家直接返回，尽管还有库存。',
    },
  },
  {
    strategies: ['setnx'],
    outcomes: ['stuck'],
    line: 'this.redis.setnx(',
    why: {
      en: 'The key has no expiry. Its holder is dead, so no process ever deletes it.',
      zh: '这个键没有过期时间。持有者已经崩溃，再也不会有进程删除它。',
    },
  },
  {
    strategies: ['setnx-expire'],
    outcomes: ['stuck'],
    line: 'this.redis.expire(',
    why: {
      en: 'The process died before this line. The key stays without an expiry.',
      zh: '进程在执行这一行之前崩溃，键永远不会过期。',
    },
  },
  {
    strategies: ['setnx-expire', 'set-nx-px'],
    outcomes: ['foreign-delete'],
    line: 'await this.redis.del(',
    why: {
      en: 'The lease has expired. This DEL deletes the lock of the next holder.',
      zh: '租约已经过期，这条 DEL 删除的是下一个持有者的锁。',
    },
  },
  {
    strategies: ['owner-check'],
    outcomes: ['foreign-delete'],
    line: '=== clientId) {',
    why: {
      en: 'The check and the DEL are two commands. The lease expired between them.',
      zh: '校验与 DEL 是两条命令，租约恰好在两者之间过期。',
    },
  },
  {
    strategies: ['owner-check', 'lua-release'],
    outcomes: ['oversold'],
    line: "'PX', TUTORIAL_LEASE_MS",
    why: {
      en: 'No watchdog renews this lease. The work takes longer, and the next buyer gets in.',
      zh: '这个租约没有看门狗续期。业务尚未完成，下一个买家就获取了锁。',
    },
  },
  {
    strategies: FIXED_LEASE,
    outcomes: ['stale-write'],
    line: 'await this.sale.sellOne(',
    why: {
      en: 'The process was frozen beyond its lease. Now it writes the stock that it read before.',
      zh: '进程冻结的时间超过租期，恢复后写回的是冻结之前读到的库存。',
    },
  },
  {
    strategies: ['lock-in-tx'],
    outcomes: ['oversells'],
    line: 'this.db.transaction()',
    why: {
      en: 'The transaction commits after the release. The next buyer reads the old stock.',
      zh: '锁释放之后事务才提交，下一个买家读到的还是旧库存。',
    },
  },
  {
    strategies: ['redis-lock', 'fair'],
    outcomes: ['refused'],
    line: 'lease.assertHeld()',
    isHarm: false,
    why: {
      en: 'assertHeld() throws, because the lease has expired. The write never happens.',
      zh: '租约已经过期，assertHeld() 抛出错误，这次写入不会发生。',
    },
  },
  {
    strategies: ['redis-lock'],
    outcomes: ['stale-write'],
    line: 'lease.assertHeld()',
    why: {
      en: 'The check has passed. The process freezes, and writes too late.',
      zh: '检查已经通过，进程随后冻结，恢复后才写入，为时已晚。',
    },
  },
  {
    strategies: ['redis-lock'],
    outcomes: ['exact', 'ok'],
    line: '@WithLock(',
    isHarm: false,
    why: {
      en: 'Buyers wait in a queue, and a watchdog renews the lease while the work runs.',
      zh: '买家排队等待锁；业务执行期间，看门狗自动续期。',
    },
  },
  {
    strategies: ['fair'],
    outcomes: ['exact', 'ok'],
    line: 'this.fairLocks.using(',
    isHarm: false,
    why: {
      en: 'All processes share one queue in Redis, and a watchdog renews the lease.',
      zh: '所有进程共用 Redis 中的一个队列，看门狗自动续期。',
    },
  },
  {
    strategies: ['fenced'],
    outcomes: ['exact', 'ok'],
    line: 'this.locks.using(',
    isHarm: false,
    why: {
      en: 'Buyers wait for the lock in a queue. The lease has a token for the write.',
      zh: '买家排队等待锁；租约带有令牌，写库时使用。',
    },
  },
  {
    strategies: ['sql-update'],
    outcomes: ['exact', 'ok'],
    line: ".where('stock', '>', 0)",
    isHarm: false,
    why: {
      en: 'The database takes one piece only if one is left. No buyer works with an old stock.',
      zh: '有库存时数据库才减一，不会使用过时的库存。',
    },
  },
  {
    strategies: ['lua-decrement'],
    outcomes: ['exact', 'ok'],
    line: 'this.redis.eval(TAKE',
    isHarm: false,
    why: {
      en: 'One script checks and takes. Redis runs one script at a time.',
      zh: '检查与扣减在同一个脚本中，Redis 一次只执行一个脚本。',
    },
  },
  {
    strategies: ['redlock'],
    outcomes: ['exact', 'ok'],
    line: 'redlock.using(',
    isHarm: false,
    why: {
      en: 'A buyer without the lock retries, and redlock extends the lease of the holder.',
      zh: '没有获取到锁的买家会重试；业务执行期间，redlock 为持有者续期。',
    },
  },
  {
    strategies: ['redis-semaphore'],
    outcomes: ['exact', 'ok'],
    line: 'new Mutex(this.redis',
    isHarm: false,
    why: {
      en: 'A buyer retries every 10 ms, and the mutex extends the lease of its holder.',
      zh: '买家每 10 毫秒重试一次，互斥锁为持有者续期。',
    },
  },
  {
    strategies: ['fenced'],
    outcomes: ['refused'],
    line: ".where('fence', '<=', values.fence)",
    isHarm: false,
    why: {
      en: 'The database has seen a higher token. It refuses the write of the late holder.',
      zh: '数据库已见过更大的令牌，拒绝这次迟到的写入。',
    },
  },
  {
    strategies: ['lua-decrement'],
    outcomes: ['lost-piece'],
    line: 'this.redis.eval(TAKE',
    why: {
      en: 'This line takes the piece off the counter, and the order follows later. The process died in between.',
      zh: '这一行先扣减计数器，订单在后面才写入。进程恰好在两者之间崩溃。',
    },
  },
  {
    strategies: ['redlock'],
    outcomes: ['refused'],
    line: 'signal.throwIfAborted()',
    isHarm: false,
    why: {
      en: 'The signal aborts, because redlock could not extend the lock. The write never happens.',
      zh: '锁续期失败，信号已中止，这次写入不会发生。',
    },
  },
  {
    strategies: ['redis-semaphore'],
    outcomes: ['stale-write'],
    line: 'mutex.isAcquired',
    why: {
      en: 'The process has just woken up. It has not received the loss yet, so isAcquired is still true.',
      zh: '进程刚刚恢复，尚未收到锁已丢失的响应，所以 isAcquired 仍然是 true。',
    },
  },
];

export function blameOf(strategy: StrategyName, outcome: Outcome): Blame | undefined {
  const rule = RULES.find(
    ({ strategies, outcomes }) => strategies.includes(strategy) && outcomes.includes(outcome),
  );
  return rule && { line: rule.line, why: rule.why, isHarm: rule.isHarm ?? true };
}
