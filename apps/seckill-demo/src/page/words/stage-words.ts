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
  readonly timeline: string;
  readonly again: string;
  readonly unlike: (expected: string) => string;
  readonly parts: Readonly<Record<PartName, StageWords>>;
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
    again: 'Play slowly',
    unlike: (expected) => `not as published: ${expected}`,
    parts: {
      queue: {
        title: 'Who came first buys first',
        why: 'A fair lock keeps one line for all processes.',
        pictures: {
          without: 'Arrival above, purchase below. A red line was overtaken: its pair is inverted.',
          with: 'Arrival above, purchase below. No line crosses another: no pair is inverted.',
        },
      },
      opening: {
        title: 'Nobody sells before all are ready',
        why: 'A latch opens the doors when the last process has counted down.',
        pictures: {
          without: 'Not played.',
          with: 'A lamp for each process. The doors open when the last one is lit; early buyers (○) are sent away.',
        },
      },
      payment: {
        title: 'Five in the gateway, never six',
        why: 'A semaphore hands out five permits, and the others wait for one.',
        pictures: {
          without: 'The gateway takes five at once. Each further buyer is thrown out (✕).',
          with: 'The others wait until a permit is free. All have paid (✓).',
        },
      },
      offer: {
        title: 'Price and stock belong together',
        why: 'Readers share a read lock; the merchant changes both under the write lock.',
        pictures: {
          without: 'Each reader saw the old price 99 with the new stock 500: a torn pair.',
          with: 'The merchant waits until all have read. 99 and 10 belong together.',
        },
      },
      cart: {
        title: 'Two carts, the same two products',
        why: 'A multi lock takes all products of a cart or none, always in the same order.',
        pictures: {
          without: 'Cart 1 has A and waits for B. Cart 2 has B and waits for A. Neither goes on.',
          with: 'One cart takes A and B together. The other one waits for both.',
        },
      },
      ticket: {
        title: 'Five attempts, at whichever process',
        why: 'The limit counts in Redis, so it is one limit for all processes.',
        pictures: {
          without: 'Each process, a row, counts for itself. Attempts beyond the fifth get in (✕).',
          with: 'All processes count together. After the fifth the visitor is sent away (○).',
        },
      },
      report: {
        title: 'A nightly job in every process',
        why: 'The moment comes in all processes at once; @CronLock lets one of them run the job.',
        pictures: {
          without: 'Every process runs the job. The second run (✕) repeats the work of the first.',
          with: 'One process runs the job (✓). The others leave it out (–).',
        },
      },
      fence: {
        title: 'The write that came too late',
        why: 'A process freezes between its check and its write. No lock can help it; the database can.',
        pictures: {
          without: 'Process 1 wakes up after its lease, and writes 99 over the newer 49.',
          with: 'The database has seen a newer token. It refuses the 99, and the 49 stays.',
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
    again: '慢放',
    unlike: (expected) => `与公布的不符：${expected}`,
    parts: {
      queue: {
        title: '先到的人先买',
        why: '公平锁让所有进程的人排同一条队。',
        pictures: {
          without: '上面是到达顺序，下面是购买顺序。红线是被插队的人，每插一次算一对逆序。',
          with: '上面是到达顺序，下面是购买顺序。没有一条线交叉，也就没有逆序。',
        },
      },
      opening: {
        title: '没有全部就绪，谁也不卖',
        why: '最后一个进程倒数完毕，闭锁才开门。',
        pictures: {
          without: '没有跑。',
          with: '每个进程一盏灯，最后一盏亮了才开门；来早的人（○）先请回。',
        },
      },
      payment: {
        title: '支付网关只进五个，绝没有第六个',
        why: '信号量只发五张许可，其他人等着。',
        pictures: {
          without: '网关同时只接五人，多出来的都被赶出去（✕）。',
          with: '其他人等到有许可空出来，最后全都付了款（✓）。',
        },
      },
      offer: {
        title: '价格和库存要一起看',
        why: '读者共用读锁，商家在写锁之下一起改价格和库存。',
        pictures: {
          without: '每个读者都看到旧价格 99 配新库存 500：新旧混在一起，算读错。',
          with: '商家等所有人读完再改，99 和 10 是一对。',
        },
      },
      cart: {
        title: '两个购物车，同样两件商品',
        why: '联锁要么锁住购物车里的全部商品，要么一件不锁，而且总按同一顺序。',
        pictures: {
          without: '购物车 1 拿着 A 等 B，购物车 2 拿着 B 等 A，谁也走不了。',
          with: '一个购物车同时拿到 A 和 B，另一个等着两件一起拿。',
        },
      },
      ticket: {
        title: '最多试五次，不论在哪个进程',
        why: '计数放在 Redis 里，所有进程共用一个上限。',
        pictures: {
          without: '每行一个进程，各数各的，第五次之后还能进（✕）。',
          with: '所有进程一起数，满五次就请回（○）。',
        },
      },
      report: {
        title: '每个进程都有的夜间任务',
        why: '各进程同时到点，@CronLock 只让其中一个执行。',
        pictures: {
          without: '每个进程都执行一遍，第二遍（✕）就多余了。',
          with: '一个进程执行（✓），其余的跳过（–）。',
        },
      },
      fence: {
        title: '来迟了的写入',
        why: '进程在检查之后、写入之前冻结。锁救不了它，数据库可以。',
        pictures: {
          without: '进程 1 醒来时租约已过，用 99 盖掉了更新的 49。',
          with: '数据库见过更大的令牌，拒绝 99，保住 49。',
        },
      },
    },
    columns: ['环节', '锁', '不用它', '用它'],
    asTable: '看表格',
  },
};
