import type { CommandKind } from '../../arena/step.js';
import type { Obstacle } from '../hands/availability.js';
import type { Refusal } from '../hands/refusal.js';
import type { Strike } from '../state/lock.js';
import type { Condition } from '../state/processes.js';
import type { InBoth } from '../words.js';

export interface HandsWords {
  readonly title: string;
  readonly intro: string;
  readonly obstacles: Readonly<Record<Obstacle, string>>;
  readonly commands: Readonly<Record<CommandKind, string>>;
  readonly conditions: Readonly<Record<Condition, string>>;
  readonly process: (number: number) => string;
  readonly counts: (waiting: number, holds: boolean) => string;
  readonly noProcess: string;
  readonly redis: string;
  readonly redisStates: Readonly<Record<'up' | 'paused', string>>;
  readonly timeline: string;
  /** The process that holds the lock, and what becomes of the lock when it is struck. */
  readonly holder: {
    readonly idle: string;
    readonly awaited: string;
    readonly struck: Readonly<Record<Strike['what'], (process: number) => string>>;
    readonly struckHolder: Readonly<
      Record<Strike['what'], (process: number, lock: string) => string>
    >;
    /** The texts before and after the seconds. */
    readonly freeIn: readonly [before: string, after: string];
    readonly free: string;
    readonly wait: (orders: number) => string;
    readonly next: (process: number, afterMs: number, isNew: boolean) => string;
    readonly still: (process: number) => string;
    readonly woke: (process: number, isRefused: boolean) => string;
  };
  readonly buyer: {
    readonly title: string;
    readonly intro: string;
    readonly name: string;
    readonly refusals: Readonly<Record<Exclude<Refusal['kind'], 'failed'>, string>>;
    readonly order: string;
    readonly place: (place: number) => string;
    readonly payBy: (seconds: number) => string;
    readonly robots: (count: number) => string;
    readonly restock: (stock: number) => string;
  };
  /** The states of an order; another one is shown by its name. */
  readonly states: Readonly<Record<string, string>>;
  readonly asked: (command: string) => string;
  readonly refused: (message: string) => string;
}

export const handsWords: InBoth<HandsWords> = {
  en: {
    title: 'Pull the plug yourself',
    intro:
      'These are real processes and a real Redis. The lease of a lock is 6 s here. The books must agree after each fault.',
    obstacles: {
      recorded: 'This is a recorded run without processes. Run the demo yourself to break them.',
      offline: 'The arena cannot be reached.',
      'not-open': 'The shop opens when the run is over.',
      'foreign-redis': 'This Redis is yours, from REDIS_URL: the arena does not break it.',
      platform: 'This operating system cannot do that.',
      'redis-paused': 'Redis is paused already.',
      'no-token': 'The address of this page has no token. Use the address from the terminal.',
      running: 'Another command is running. Try again in some seconds.',
      gone: 'This process has ended. A new process takes its place.',
      struck: 'This process has not recovered from the last command.',
      'no-holder': 'No process has acquired the lock, so there is no holder.',
      'stock-locked': 'The lock of the product was not free. Try again in some seconds.',
    },
    commands: {
      'kill-holder': 'Kill the holder',
      'freeze-holder': 'Freeze the holder for 10 s',
      kill: 'Kill',
      freeze: 'Freeze for 10 s',
      cut: 'Cut its network',
      block: 'Block its event loop',
      'redis-pause': 'Pause for 10 s',
      'redis-restart': 'Restart without its data',
      'redis-fail-over': 'Fail over to a replica',
      buy: 'Buy one',
      pay: 'Pay',
      robots: 'Call robots',
      restock: 'New sale',
      skip: 'Skip to the shop',
    },
    conditions: {
      up: 'works',
      frozen: 'frozen',
      cut: 'network cut',
      blocked: 'event loop blocked',
      ended: 'ended',
    },
    process: (number) => `Process ${number}`,
    counts: (waiting, holds) => `${holds ? 'holds the lock, ' : ''}${waiting} waiting for the lock`,
    noProcess: 'No process is serving now.',
    redis: 'Redis',
    redisStates: { up: 'works', paused: 'paused' },
    timeline: 'The last 15 seconds',
    holder: {
      idle: 'One press lets an order acquire the lock. A second later, in the middle of its work, its process is struck.',
      awaited: 'An order acquires the lock, and works for a second …',
      struck: {
        killed: (process) => `Process ${process} was killed.`,
        frozen: (process) => `Process ${process} is frozen. It holds no lock.`,
      },
      struckHolder: {
        killed: (process, lock) => `Process ${process} was killed while it held ${lock}.`,
        frozen: (process, lock) => `Process ${process} was frozen while it held ${lock}.`,
      },
      freeIn: [' The lock is free in ', '; '],
      free: ' The lock is free; ',
      wait: (orders) =>
        orders === 1 ? '1 order waits in the queue.' : `${orders} orders wait in the queue.`,
      next: (process, afterMs, isNew) =>
        `${isNew ? 'The new process' : 'Process'} ${process} acquired it after ${(afterMs / 1_000).toFixed(1)} s.`,
      still: (process) => `Process ${process} is still frozen in the middle of its work.`,
      woke: (process, isRefused) =>
        isRefused
          ? `Process ${process} woke up and wrote too late: the database refused its write.`
          : `Process ${process} woke up.`,
    },
    buyer: {
      title: 'Be a buyer',
      intro:
        'Each tab is its own buyer, and gets at most one piece. If you do not pay within a minute, your piece is sold again. One in five robots never pays.',
      name: 'Your name',
      refusals: {
        'has-one': 'You have one already.',
        busy: 'Too many buyers wait. Try again.',
        'no-order': 'You have no order to pay for.',
        'not-open': 'The sale has not begun.',
      },
      order: 'Your order',
      place: (place) => `number ${place} in line`,
      payBy: (seconds) => `${seconds} s left to pay`,
      robots: (count) => `Call ${count} robots`,
      restock: (stock) => `New sale: ${stock} pieces`,
    },
    states: {
      queued: 'waiting in the queue',
      reserved: 'piece reserved, to be paid',
      paying: 'payment in progress',
      paid: 'paid',
      'sold-out': 'sold out',
      expired: 'not paid in time, piece back in stock',
      cancelled: 'cancelled',
    },
    asked: (command) => `Done: ${command}`,
    refused: (message) => `Refused: ${message}`,
  },
  zh: {
    title: '亲手拔电源',
    intro: '这里运行的是真实的进程和真实的 Redis，锁的租期是 6 秒。无论怎么破坏，账目都必须一致。',
    obstacles: {
      recorded: '这是录像，没有正在运行的进程。请在自己的机器上运行演示。',
      offline: '无法连接演示。',
      'not-open': '运行结束后商店才开门。',
      'foreign-redis': '这是 REDIS_URL 指定的 Redis，演示不会对它制造故障。',
      platform: '当前操作系统不支持此操作。',
      'redis-paused': 'Redis 已经暂停。',
      'no-token': '网址中没有令牌，请使用终端里打印的网址。',
      running: '另一条命令正在执行，请过几秒再试。',
      gone: '该进程已退出，新进程会接替它。',
      struck: '该进程尚未从上一条命令中恢复。',
      'no-holder': '没有进程获取到锁，因此没有持有者。',
      'stock-locked': '商品的锁没有空闲，请过几秒再试。',
    },
    commands: {
      'kill-holder': '杀掉持有者',
      'freeze-holder': '冻结持有者 10 秒',
      kill: '杀掉',
      freeze: '冻结 10 秒',
      cut: '切断网络',
      block: '阻塞事件循环',
      'redis-pause': '暂停 10 秒',
      'redis-restart': '重启并清空数据',
      'redis-fail-over': '切换到副本',
      buy: '抢一件',
      pay: '付款',
      robots: '召唤机器人',
      restock: '重新开卖',
      skip: '直接去商店',
    },
    conditions: {
      up: '正常',
      frozen: '已冻结',
      cut: '已断网',
      blocked: '事件循环被阻塞',
      ended: '已退出',
    },
    process: (number) => `进程 ${number}`,
    counts: (waiting, holds) => `${holds ? '持有锁，' : ''}${waiting} 个在等锁`,
    noProcess: '当前没有进程提供服务。',
    redis: 'Redis',
    redisStates: { up: '正常', paused: '已暂停' },
    timeline: '最近 15 秒',
    holder: {
      idle: '按下按钮，会有一张订单获取锁。一秒之后，业务执行到一半，它所在的进程就会被杀掉或冻结。',
      awaited: '一张订单正在获取锁，业务将执行一秒……',
      struck: {
        killed: (process) => `进程 ${process} 被杀掉。`,
        frozen: (process) => `进程 ${process} 被冻结，它没有持有锁。`,
      },
      struckHolder: {
        killed: (process, lock) => `进程 ${process} 在持有 ${lock} 时被杀掉。`,
        frozen: (process, lock) => `进程 ${process} 在持有 ${lock} 时被冻结。`,
      },
      freeIn: ['锁还有 ', ' 后空闲，'],
      free: '锁已空闲，',
      wait: (orders) => `${orders} 张订单在排队。`,
      next: (process, afterMs, isNew) =>
        `${(afterMs / 1_000).toFixed(1)} 秒后，${isNew ? '新的' : ''}进程 ${process} 获取了锁。`,
      still: (process) => `进程 ${process} 仍被冻结，业务停在半途。`,
      woke: (process, isRefused) =>
        isRefused
          ? `进程 ${process} 恢复后才写入，为时已晚：数据库拒绝了这次写入。`
          : `进程 ${process} 已恢复。`,
    },
    buyer: {
      title: '当一回买家',
      intro:
        '每个标签页是一个买家，每人限购一件。一分钟内未付款，库存自动退回。每五个机器人中有一个不付款。',
      name: '你的昵称',
      refusals: {
        'has-one': '你已经有一件了。',
        busy: '排队人数过多，请稍后再试。',
        'no-order': '你没有待付款的订单。',
        'not-open': '尚未开卖。',
      },
      order: '你的订单',
      place: (place) => `排在第 ${place} 位`,
      payBy: (seconds) => `请在 ${seconds} 秒内付款`,
      robots: (count) => `召唤 ${count} 个机器人`,
      restock: (stock) => `重新开卖：${stock} 件`,
    },
    states: {
      queued: '排队中',
      reserved: '抢到了，待付款',
      paying: '付款中',
      paid: '已付款',
      'sold-out': '已售罄',
      expired: '超时未付，库存已退回',
      cancelled: '已取消',
    },
    asked: (command) => `已执行：${command}`,
    refused: (message) => `未执行：${message}`,
  },
};
