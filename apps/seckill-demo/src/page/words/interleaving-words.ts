import type { LockReported, Struck } from '../../arena/step.js';
import type { GatePoint } from '../../seckill/gate.js';
import type { InBoth } from '../words.js';

export interface InterleavingWords {
  readonly points: Readonly<Partial<Record<GatePoint, string>>>;
  readonly locks: Readonly<Partial<Record<LockReported['event'], string>>>;
  readonly struck: Readonly<Partial<Record<Struck['what'], string>>>;
  readonly answered: (answer: string) => string;
}

/** One step of a run as a sentence about its caller or process. */
export const interleavingWords: InBoth<InterleavingWords> = {
  en: {
    points: {
      doors: 'arrives',
      'lock-set': 'holds the lock',
      'before-read': 'reads the stock',
      'before-write': 'writes the stock',
      'after-write': 'has written the stock',
      'before-delete': 'releases the lock',
    },
    locks: {
      renewed: 'the watchdog renews the lease',
      'renewal-failed': 'a renewal fails',
      suspect: 'the hold is suspect',
      recovered: 'the hold is confirmed',
      lost: 'the lock is lost',
    },
    struck: {
      killed: 'the process is killed',
      frozen: 'the process freezes',
      thawed: 'the process goes on',
      'lease-ended': 'the lease expires in Redis',
    },
    answered: (answer) => `ends: ${answer}`,
  },
  zh: {
    points: {
      doors: '到达',
      'lock-set': '持有锁',
      'before-read': '读取库存',
      'before-write': '写入库存',
      'after-write': '库存已写入',
      'before-delete': '释放锁',
    },
    locks: {
      renewed: '看门狗续期',
      'renewal-failed': '续期失败',
      suspect: '持有状态存疑',
      recovered: '确认仍然持有',
      lost: '锁已丢失',
    },
    struck: {
      killed: '进程被杀',
      frozen: '进程冻结',
      thawed: '进程恢复运行',
      'lease-ended': 'Redis 中的租约过期',
    },
    answered: (answer) => `结束：${answer}`,
  },
};
