import type { PartName } from '../../arena/parts/part.js';
import type { InBoth } from '../words.js';

export interface StageWords {
  readonly title: string;
  /** What the lock is for, in one sentence. */
  readonly why: string;
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
  readonly timeline: string;
  readonly unlike: (expected: string) => string;
  readonly parts: Readonly<Partial<Record<PartName, StageWords>>>;
  readonly columns: readonly [string, string, string, string];
  readonly asTable: string;
}

export const stageWords: InBoth<StagesWords> = {
  en: {
    title: 'What the other locks are for',
    intro:
      'The stock needs one lock. The rest of a sale needs others; each is played without it and with it.',
    without: 'without the',
    with: 'with the',
    pending: 'not played yet',
    running: 'being played …',
    notPlayed: 'Not played: its harm depends on luck.',
    measured: 'measured, not promised',
    timeline: 'On the timeline',
    unlike: (expected) => `not as published: ${expected}`,
    parts: {
      queue: {
        title: 'Who came first buys first',
        why: 'A fair lock keeps one line for all processes.',
        pictures: {
          without: 'Above the order of arrival, below the order of purchase; lines cross.',
          with: 'Above the order of arrival, below the order of purchase; no lines cross.',
        },
      },
      opening: {
        title: 'Nobody sells before all are ready',
        why: 'A latch opens the doors when the last process has counted down.',
        pictures: { without: 'Not played.', with: 'A lamp for each process, and the doors.' },
      },
      payment: {
        title: 'Five in the gateway, never six',
        why: 'A semaphore hands out five permits, and the others wait for one.',
        pictures: {
          without: 'Five lamps; whoever comes sixth is thrown out.',
          with: 'Five lamps; all buyers have paid.',
        },
      },
      offer: {
        title: 'Price and stock belong together',
        why: 'Readers share a read lock; the merchant changes both under the write lock.',
        pictures: {
          without: 'Readers who saw the old price with the new stock: torn pairs.',
          with: 'Readers who saw a price and a stock that belong together.',
        },
      },
      cart: {
        title: 'Two carts, the same two products',
        why: 'A multi lock takes all products of a cart or none, always in the same order.',
        pictures: {
          without: 'Cart 1 has A and waits for B; cart 2 has B and waits for A.',
          with: 'Cart 1 has A and B; cart 2 waits for its turn.',
        },
      },
      ticket: {
        title: 'Five attempts, at whichever process',
        why: 'The limit counts in Redis, so it is one limit for all processes.',
        pictures: {
          without: 'Each process lets the visitor in five times.',
          with: 'All processes together let the visitor in five times.',
        },
      },
      report: {
        title: 'A nightly job in every process',
        why: 'The moment comes in all processes at once; @CronLock lets one of them run the job.',
        pictures: {
          without: 'Every process runs the job.',
          with: 'One process runs the job, the others leave it out.',
        },
      },
    },
    columns: ['part', 'lock', 'without it', 'with it'],
    asTable: 'as a table',
  },
  zh: {
    title: '其他几种锁各管什么',
    intro: '库存只需要一把锁，秒杀的其他环节还需要别的锁。每一种都先不用、再用，各跑一遍。',
    without: '不用',
    with: '用',
    pending: '还没跑',
    running: '正在跑……',
    notPlayed: '没有跑：会不会出错要看运气。',
    measured: '只测量，不作保证',
    timeline: '看时间线',
    unlike: (expected) => `与公布的不符：${expected}`,
    parts: {
      queue: {
        title: '先到的人先买',
        why: '公平锁让所有进程共用一条队。',
        pictures: {
          without: '上面是到达顺序，下面是购买顺序，连线交叉。',
          with: '上面是到达顺序，下面是购买顺序，连线不交叉。',
        },
      },
      opening: {
        title: '没有全部就绪，谁也不卖',
        why: '最后一个进程倒数完毕，闭锁才开门。',
        pictures: { without: '没有跑。', with: '每个进程一盏灯，旁边是大门。' },
      },
      payment: {
        title: '支付网关只进五个，绝没有第六个',
        why: '信号量只发五张许可，其他人等着。',
        pictures: {
          without: '五盏灯，第六个进来的人被赶出去。',
          with: '五盏灯，所有买家都付了款。',
        },
      },
      offer: {
        title: '价格和库存要一起看',
        why: '读者共用读锁，商家在写锁之下一起改价格和库存。',
        pictures: {
          without: '读者看到旧价格配新库存：一对撕裂的值。',
          with: '读者看到的价格和库存是一对。',
        },
      },
      cart: {
        title: '两个购物车，同样两件商品',
        why: '联锁要么锁住购物车里的全部商品，要么一件不锁，而且总按同一顺序。',
        pictures: {
          without: '购物车 1 拿着 A 等 B，购物车 2 拿着 B 等 A。',
          with: '购物车 1 同时拿着 A 和 B，购物车 2 等轮到自己。',
        },
      },
      ticket: {
        title: '最多试五次，不论在哪个进程',
        why: '计数放在 Redis 里，所有进程共用一个上限。',
        pictures: {
          without: '每个进程都放行五次。',
          with: '所有进程加起来放行五次。',
        },
      },
      report: {
        title: '每个进程都有的夜间任务',
        why: '时刻在各进程同时到来，@CronLock 只让其中一个执行。',
        pictures: {
          without: '每个进程都执行一遍。',
          with: '一个进程执行，其余的跳过。',
        },
      },
    },
    columns: ['环节', '锁', '不用它', '用它'],
    asTable: '看表格',
  },
};
