import type { PartName } from '../../arena/parts/part.js';
import type { InBoth } from '../words.js';

export interface StageWords {
  readonly title: string;
  /** The purpose of the lock, in one sentence. */
  readonly why: string;
  /** The picture in words, and how harm looks there. */
  readonly pictures: { readonly without: string; readonly with: string };
}

export interface StagesWords {
  readonly title: string;
  readonly intro: string;
  readonly without: string;
  readonly with: string;
  readonly pending: string;
  readonly running: string;
  readonly notPlayed: string;
  readonly measured: string;
  readonly luck: string;
  readonly timeline: string;
  readonly again: string;
  readonly unlike: (expected: string) => string;
  readonly parts: Readonly<Record<PartName, StageWords>>;
  readonly columns: readonly [string, string, string, string];
  readonly asTable: string;
}

export const stageWords: InBoth<StagesWords> = {
  en: {
    title: 'The other locks',
    intro:
      'The stock needs one lock. The rest of a sale needs others. Each part is played without its lock and with it.',
    without: 'without the',
    with: 'with the',
    pending: 'not played yet',
    running: 'being played …',
    notPlayed: 'Not played: the failure depends on chance.',
    measured: 'measured, not promised',
    luck: 'in order by luck',
    timeline: 'On the timeline',
    again: 'Play slowly',
    unlike: (expected) => `not as published: ${expected}`,
    parts: {
      queue: {
        title: 'First come, first served',
        why: 'A fair lock keeps one queue for all processes.',
        pictures: {
          without:
            'Arrival above, purchase below. A red line is a buyer that another buyer overtook: an inverted pair.',
          with: 'Arrival above, purchase below. No lines cross: no pair is inverted.',
        },
      },
      opening: {
        title: 'No sale before all are ready',
        why: 'A latch opens the doors when the last process has counted down.',
        pictures: {
          without: 'Not played.',
          with: 'Each process has a lamp. The doors open when the last lamp is on; early buyers (○) are sent away.',
        },
      },
      payment: {
        title: 'Five in the gateway, never six',
        why: 'A semaphore has five permits; further buyers wait for one.',
        pictures: {
          without: 'The gateway takes five buyers at once. It refuses each further buyer (✕).',
          with: 'Further buyers wait until a permit is free. All have paid (✓).',
        },
      },
      offer: {
        title: 'Price and stock belong together',
        why: 'Readers share the read lock; the merchant changes both under the write lock.',
        pictures: {
          without: 'Each reader saw the old price 99 with the new stock 500: a torn pair.',
          with: 'The merchant waits until all readers are done. 99 and 10 belong together.',
        },
      },
      cart: {
        title: 'Two carts, the same two products',
        why: 'A multi lock acquires all products of a cart or none, always in the same order.',
        pictures: {
          without:
            'Cart 1 holds A and waits for B. Cart 2 holds B and waits for A. A cart whose waiting time is over gives up (✕).',
          with: 'One cart acquires A and B together. The other cart waits for both.',
        },
      },
      ticket: {
        title: 'Five attempts in all processes',
        why: 'The limit counts in Redis, so all processes share one limit.',
        pictures: {
          without: 'Each process (a row) counts for itself. Attempts beyond the fifth get in (✕).',
          with: 'All processes count together. After the fifth attempt, the visitor is sent away (○).',
        },
      },
      report: {
        title: 'A nightly job in every process',
        why: 'The job is due in all processes at once; @CronLock lets one of them run it.',
        pictures: {
          without: 'Every process runs the job. The second run (✕) repeats the work of the first.',
          with: 'One process runs the job (✓). The other processes skip it (–).',
        },
      },
      fence: {
        title: 'The write that came too late',
        why: 'A process freezes between its check and its write. No lock can stop this write; the database can.',
        pictures: {
          without:
            'Process 1 wakes up after its lease has expired, and overwrites the newer 49 with 99.',
          with: 'The database has seen a newer token. It refuses the 99 and keeps the 49.',
        },
      },
    },
    columns: ['part', 'lock', 'without it', 'with it'],
    asTable: 'as a table',
  },
  zh: {
    title: '其他几种锁的用途',
    intro: '库存只需要一把锁，秒杀的其他环节还需要其他锁。每个环节分别在不加锁和加锁时各运行一次。',
    without: '不用',
    with: '使用',
    pending: '尚未运行',
    running: '正在运行……',
    notPlayed: '未运行：是否出错取决于时机。',
    measured: '仅测量，不作保证',
    luck: '碰巧有序',
    timeline: '查看时间线',
    again: '慢放',
    unlike: (expected) => `与预期不符：${expected}`,
    parts: {
      queue: {
        title: '先到先得',
        why: '公平锁让所有进程的买家排在同一个队列里。',
        pictures: {
          without: '上方是到达顺序，下方是购买顺序。红线是被插队的买家，构成一对逆序。',
          with: '上方是到达顺序，下方是购买顺序。没有连线交叉，也就没有逆序。',
        },
      },
      opening: {
        title: '全部就绪之后才开卖',
        why: '最后一个进程就绪、计数减到零之后，闭锁才打开。',
        pictures: {
          without: '未运行。',
          with: '每个进程一盏灯，最后一盏亮起才开门；提前到达的买家（○）被拒。',
        },
      },
      payment: {
        title: '支付网关最多五个，绝无第六个',
        why: '信号量有五个许可，其余买家等待许可。',
        pictures: {
          without: '网关最多同时处理五笔付款，超出的都被拒绝（✕）。',
          with: '其余买家等待许可释放，最后全部完成付款（✓）。',
        },
      },
      offer: {
        title: '价格与库存必须一致',
        why: '读者共享读锁，商家在写锁之下同时修改价格和库存。',
        pictures: {
          without: '每个读者都看到旧价格 99 与新库存 500：读到不一致的数据（脏读）。',
          with: '商家等所有读者读完再修改，99 与 10 是同一时刻的数据。',
        },
      },
      cart: {
        title: '两个购物车，同样两件商品',
        why: '联锁要么锁住购物车里的全部商品，要么都不锁，并且始终按同一顺序加锁。',
        pictures: {
          without:
            '购物车 1 持有 A、等待 B，购物车 2 持有 B、等待 A，形成死锁。等待超时的一方放弃（✕）。',
          with: '一个购物车同时获取 A 和 B，另一个等待两者都空闲。',
        },
      },
      ticket: {
        title: '所有进程合计五次',
        why: '计数保存在 Redis 中，所有进程共用一个上限。',
        pictures: {
          without: '每行一个进程，各自计数，超过五次仍被放行（✕）。',
          with: '所有进程统一计数，超过五次即被拒（○）。',
        },
      },
      report: {
        title: '每个进程都有的夜间任务',
        why: '任务在各进程同时触发，@CronLock 只让其中一个执行。',
        pictures: {
          without: '每个进程都执行一次，第二次（✕）是重复执行。',
          with: '一个进程执行（✓），其余进程跳过（–）。',
        },
      },
      fence: {
        title: '迟到的写入',
        why: '进程在检查之后、写入之前冻结。锁无法阻止这次写入，数据库可以。',
        pictures: {
          without: '进程 1 恢复时租约已过期，用 99 覆盖了更新的 49。',
          with: '数据库已见过更大的令牌，拒绝 99，保留 49。',
        },
      },
    },
    columns: ['环节', '锁', '不加锁', '加锁'],
    asTable: '看表格',
  },
};
