import type { CommandKind } from '../../arena/step.js';
import type { Obstacle } from '../hands/availability.js';
import type { Refusal } from '../hands/refusal.js';
import type { Condition } from '../state/processes.js';
import type { InBoth } from '../words.js';

export interface HandsWords {
  readonly title: string;
  readonly intro: string;
  readonly obstacles: Readonly<Record<Obstacle, string>>;
  readonly commands: Readonly<Record<CommandKind, string>>;
  readonly conditions: Readonly<Record<Condition, string>>;
  readonly process: (number: number) => string;
  readonly counts: (waiting: number, held: number) => string;
  readonly noProcess: string;
  readonly redis: string;
  readonly redisStates: Readonly<Record<'up' | 'paused', string>>;
  readonly timeline: string;
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
      'These are real processes and a real Redis. Call the robots, then kill the process that holds the lock. The books must still agree. The lock of a dead process expires after 6 s.',
    obstacles: {
      recorded: 'This is a recorded run without processes. Run the demo yourself to break them.',
      offline: 'The arena cannot be reached.',
      'not-open': 'The shop opens when the run is over.',
      'foreign-redis': 'This Redis is yours, from REDIS_URL: the arena does not break it.',
      platform: 'This operating system cannot do that.',
      'redis-paused': 'Redis is paused already.',
    },
    commands: {
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
    counts: (waiting, held) => `${waiting} waiting, ${held} inside`,
    noProcess: 'No process is serving now.',
    redis: 'Redis',
    redisStates: { up: 'works', paused: 'paused' },
    timeline: 'The last 15 seconds',
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
    intro:
      '这里运行的是真实的进程和真实的 Redis。先召唤机器人，再杀掉持有锁的进程，账目必须仍然一致。进程崩溃后，它的锁会在 6 秒后自动过期。',
    obstacles: {
      recorded: '这是录像，没有正在运行的进程。请在自己的机器上运行演示。',
      offline: '无法连接演示。',
      'not-open': '运行结束后商店才开门。',
      'foreign-redis': '这是 REDIS_URL 指定的 Redis，演示不会对它制造故障。',
      platform: '当前操作系统不支持此操作。',
      'redis-paused': 'Redis 已经暂停。',
    },
    commands: {
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
    counts: (waiting, held) => `${waiting} 个等待，${held} 个持有`,
    noProcess: '当前没有进程提供服务。',
    redis: 'Redis',
    redisStates: { up: '正常', paused: '已暂停' },
    timeline: '最近 15 秒',
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
