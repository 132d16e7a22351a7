import type { Outcome } from '../../arena/cell.js';
import type { Language } from '../../arena/texts.js';
import type { StrategyName } from '../../strategies/strategy.js';

/** The line that decides an outcome, and why. */
export interface Blame {
  /** A text that the line contains. */
  readonly line: string;
  readonly isHarm: boolean;
  readonly why: Readonly<Record<Language, string>>;
}

interface Rule extends Omit<Blame, 'isHarm'> {
  readonly strategies: readonly StrategyName[];
  readonly outcomes: readonly Outcome[];
  readonly isHarm?: false;
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
      en: 'Nothing keeps the second buyer out between the read and the write.',
      zh: '从读库存到写库存之间，没有任何东西拦住第二个买家。',
    },
  },
  {
    strategies: ['in-process'],
    outcomes: ['oversells'],
    line: 'new Mutex()',
    why: {
      en: 'The mutex lives in the memory of one process. The other process has its own.',
      zh: '这把互斥锁只在一个进程的内存里，另一个进程有它自己的一把。',
    },
  },
  {
    strategies: IMPATIENT,
    outcomes: ['undersells'],
    line: 'return this.sale.busy()',
    why: {
      en: 'A buyer who does not get the lock goes away, although there is stock.',
      zh: '没抢到锁的买家直接离开，哪怕还有库存。',
    },
  },
  {
    strategies: ['setnx'],
    outcomes: ['stuck'],
    line: 'this.redis.setnx(',
    why: {
      en: 'The key has no expiry. Its holder is dead, so nobody ever deletes it.',
      zh: '这个键没有过期时间。持有者已经死了，再也没有人删它。',
    },
  },
  {
    strategies: ['setnx-expire'],
    outcomes: ['stuck'],
    line: 'this.redis.expire(',
    why: {
      en: 'The process died before this line. The key stays without an expiry.',
      zh: '进程死在这一行之前，键就永远没有过期时间。',
    },
  },
  {
    strategies: ['setnx-expire', 'set-nx-px'],
    outcomes: ['foreign-delete'],
    line: 'await this.redis.del(',
    why: {
      en: 'The lease was over. This DEL deletes the lock of the next holder.',
      zh: '租约已经到期，这条 DEL 删掉的是下一个持有者的锁。',
    },
  },
  {
    strategies: ['owner-check'],
    outcomes: ['foreign-delete'],
    line: '=== clientId) {',
    why: {
      en: 'Look and DEL are two commands. The lease ended between them.',
      zh: '查看和 DEL 是两条命令，租约恰好在两者之间到期。',
    },
  },
  {
    strategies: ['owner-check', 'lua-release'],
    outcomes: ['oversold'],
    line: "'PX', TUTORIAL_LEASE_MS",
    why: {
      en: 'Nobody renews this lease. The work takes longer, and the next buyer gets in.',
      zh: '没有人给这份租约续期。业务还没做完，下一个买家就进来了。',
    },
  },
  {
    strategies: FIXED_LEASE,
    outcomes: ['stale-write'],
    line: 'await this.sale.sellOne(',
    why: {
      en: 'The process slept beyond its lease, and now writes what it had read before.',
      zh: '进程一觉睡过了租约，醒来后写回的是睡前读到的库存。',
    },
  },
  {
    strategies: ['lock-in-tx'],
    outcomes: ['oversells'],
    line: 'this.db.transaction()',
    why: {
      en: 'The transaction commits after the lock is given back. The next buyer reads the old stock.',
      zh: '锁放掉之后事务才提交，下一个买家读到的还是旧库存。',
    },
  },
  {
    strategies: ['redis-lock', 'fair'],
    outcomes: ['refused'],
    line: 'lease.assertHeld()',
    isHarm: false,
    why: {
      en: 'assertHeld() sees that the lease is over. The write never happens.',
      zh: 'assertHeld() 发现租约已经到期，这次写入不会发生。',
    },
  },
  {
    strategies: ['redis-lock'],
    outcomes: ['exact', 'ok'],
    line: '@WithLock(',
    isHarm: false,
    why: {
      en: 'Buyers wait for their turn, and a watchdog renews the lease while the work goes on.',
      zh: '买家排队等锁；业务没做完，看门狗就一直续租。',
    },
  },
  {
    strategies: ['fair'],
    outcomes: ['exact', 'ok'],
    line: 'this.fairLocks.using(',
    isHarm: false,
    why: {
      en: 'All processes share one queue in Redis, and a watchdog renews the lease.',
      zh: '所有进程共用 Redis 里的一条队，看门狗负责续租。',
    },
  },
  {
    strategies: ['fenced'],
    outcomes: ['exact', 'ok'],
    line: 'this.locks.using(',
    isHarm: false,
    why: {
      en: 'The lock makes buyers wait for their turn. Its lease has a token, for the write.',
      zh: '锁让买家排队等候，租约带着一个令牌，写库时要用。',
    },
  },
  {
    strategies: ['sql-update'],
    outcomes: ['exact', 'ok'],
    line: ".where('stock', '>', 0)",
    isHarm: false,
    why: {
      en: 'The database takes one off only if there is one. Nobody reads a stock that is old by then.',
      zh: '有库存，数据库才减一；没有人会用到过时的库存。',
    },
  },
  {
    strategies: ['lua-decrement'],
    outcomes: ['exact', 'ok'],
    line: 'this.redis.eval(TAKE',
    isHarm: false,
    why: {
      en: 'One script looks and takes. Redis runs one script at a time.',
      zh: '查看和扣减在同一个脚本里，Redis 一次只执行一个脚本。',
    },
  },
  {
    strategies: ['redlock'],
    outcomes: ['exact', 'ok'],
    line: 'redlock.using(',
    isHarm: false,
    why: {
      en: 'A buyer without the lock asks again, and redlock extends the lease of the holder.',
      zh: '没抢到锁的人会再来问；业务没做完，redlock 就延长租约。',
    },
  },
  {
    strategies: ['redis-semaphore'],
    outcomes: ['exact', 'ok'],
    line: 'new Mutex(this.redis',
    isHarm: false,
    why: {
      en: 'A buyer asks for this mutex every 10 ms, and the holder extends its lease.',
      zh: '买家每 10 毫秒问一次这把锁，持有者不断延长租约。',
    },
  },
  {
    strategies: ['fenced'],
    outcomes: ['refused'],
    line: ".where('fence', '<=', token)",
    isHarm: false,
    why: {
      en: 'The database has seen a higher token. It refuses the write of the late holder.',
      zh: '数据库见过更大的令牌，于是拒绝迟到者的写入。',
    },
  },
  {
    strategies: ['lua-decrement'],
    outcomes: ['lost-piece'],
    line: 'this.redis.eval(TAKE',
    why: {
      en: 'The piece is off the counter here, and its order comes later. The process died between the two.',
      zh: '计数器在这里就少了一件，订单要到后面才写。进程恰好死在两者之间。',
    },
  },
  {
    strategies: ['redlock'],
    outcomes: ['refused'],
    line: 'signal.throwIfAborted()',
    isHarm: false,
    why: {
      en: 'The signal says that the lock could not be extended. The write never happens.',
      zh: '信号表明锁没能续期，这次写入不会发生。',
    },
  },
  {
    strategies: ['redis-semaphore'],
    outcomes: ['stale-write'],
    line: 'mutex.isAcquired',
    why: {
      en: 'The process has just woken up. No answer has told it of the loss, so isAcquired still says yes.',
      zh: '进程刚刚醒来，还没有答复告诉它锁已丢失，所以 isAcquired 仍然是 true。',
    },
  },
];

export function blameOf(strategy: StrategyName, outcome: Outcome): Blame | undefined {
  const rule = RULES.find(
    ({ strategies, outcomes }) => strategies.includes(strategy) && outcomes.includes(outcome),
  );
  return rule && { line: rule.line, why: rule.why, isHarm: rule.isHarm ?? true };
}
