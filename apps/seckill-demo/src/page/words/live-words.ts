import type { InBoth } from '../words.js';

export interface LiveWords {
  readonly title: string;
  readonly intro: string;
  readonly books: {
    readonly title: string;
    readonly none: string;
    readonly stock: string;
    readonly orders: string;
    readonly opening: string;
    readonly difference: string;
    readonly agrees: string;
    readonly states: string;
    readonly differs: string;
    readonly reconciled: (process: number, differences: number) => string;
  };
  readonly queues: {
    readonly title: string;
    readonly none: string;
    readonly process: (number: number) => string;
    readonly holds: string;
    readonly waiting: (count: number) => string;
    readonly more: (count: number) => string;
  };
  readonly chart: {
    readonly rate: string;
    readonly p99: string;
    readonly second: string;
    readonly picture: (name: string, now: string) => string;
    readonly asTable: string;
  };
}

export const liveWords: InBoth<LiveWords> = {
  en: {
    title: 'The sale, live',
    intro:
      'These figures change with each answered order, during the run and in the shop after it.',
    books: {
      title: 'The books',
      none: 'The books open with the shop, after the run.',
      stock: 'in stock',
      orders: 'orders on record',
      opening: 'at the opening',
      difference: 'difference',
      states: 'Orders by state',
      agrees: 'stock and orders agree',
      differs: 'stock and orders do not agree',
      reconciled: (process, differences) =>
        differences === 0
          ? `Process ${process} has compared the books: they agree.`
          : `Process ${process} has compared the books: ${differences} differences.`,
    },
    queues: {
      title: 'The queues for the lock of the product',
      none: 'No caller waits.',
      process: (number) => `process ${number}`,
      holds: 'holds the lock',
      waiting: (count) => `${count} waiting`,
      more: (count) => `+ ${count}`,
    },
    chart: {
      rate: 'orders per second',
      p99: 'p99 in ms',
      second: 'second',
      picture: (name, now) => `${name} over the last minute; now ${now}.`,
      asTable: 'as a table',
    },
  },
  zh: {
    title: '秒杀实况',
    intro: '这些数字随每个订单的响应实时更新，演示运行期间和商店营业期间都是如此。',
    books: {
      title: '账目',
      none: '运行结束、商店开门之后才有账目。',
      stock: '库存',
      orders: '订单',
      opening: '开卖时',
      difference: '账实差',
      states: '各状态的订单',
      agrees: '库存与订单一致',
      differs: '库存与订单不一致',
      reconciled: (process, differences) =>
        differences === 0
          ? `进程 ${process} 已对账：一致。`
          : `进程 ${process} 已对账：${differences} 处不符。`,
    },
    queues: {
      title: '商品锁的等待队列',
      none: '没有等待者。',
      process: (number) => `进程 ${number}`,
      holds: '持有锁',
      waiting: (count) => `等待 ${count}`,
      more: (count) => `+ ${count}`,
    },
    chart: {
      rate: '订单/秒',
      p99: 'p99（ms）',
      second: '秒',
      picture: (name, now) => `最近一分钟的${name}，当前 ${now}。`,
      asTable: '看表格',
    },
  },
};
