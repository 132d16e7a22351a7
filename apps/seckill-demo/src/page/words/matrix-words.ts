import type { InBoth } from '../words.js';

export interface MatrixWords {
  readonly title: (ways: number) => string;
  readonly intro: string;
  readonly strategy: string;
  readonly processes: (number: number) => string;
  readonly pending: string;
  readonly running: string;
  readonly unlike: (expected: string) => string;
  readonly progress: (done: number, all: number) => string;
  readonly surprises: (cells: number) => string;
  readonly noSurprise: string;
  readonly legend: Readonly<Record<'right' | 'harm' | 'none' | 'pending' | 'surprise', string>>;
  readonly took: (seconds: number) => string;
  readonly empty: string;
}

export const matrixWords: InBoth<MatrixWords> = {
  en: {
    title: (ways) => `${ways} ways to sell one product`,
    intro:
      'Up to redis-lock, each row mends a flaw of the row above. Each column breaks the sale in another way. Choose a cell to see it again, slowly.',
    strategy: 'strategy',
    processes: (number) => (number === 1 ? 'rush,\none process' : `rush,\n${number} processes`),
    pending: 'not played yet',
    running: 'being played',
    unlike: (expected) => `not as published: ${expected}`,
    progress: (done, all) => `${done} of ${all} cells played`,
    surprises: (cells) => `${cells} not as published`,
    noSurprise: 'all as published',
    legend: {
      right: 'the sale is right',
      harm: 'harm',
      none: 'not concerned: the strategy has no lock that the fault could hurt',
      pending: 'not played yet',
      surprise: 'not as published',
    },
    took: (seconds) => ` in ${seconds} s`,
    empty: 'The matrix fills as soon as the run begins.',
  },
  zh: {
    title: (ways) => `一件商品，${ways} 种卖法`,
    intro:
      '到 redis-lock 为止，每一行修补上一行的漏洞；每一列用一种方式把秒杀弄坏。选一格，慢慢重看一遍。',
    strategy: '策略',
    processes: (number) => `抢购，\n${number} 个进程`,
    pending: '还没跑',
    running: '正在跑',
    unlike: (expected) => `与公布的不符：${expected}`,
    progress: (done, all) => `已跑 ${done} / ${all} 格`,
    surprises: (cells) => `${cells} 格与公布的不符`,
    noSurprise: '全部与公布的一致',
    legend: {
      right: '卖得对',
      harm: '出了错',
      none: '不涉及：这种策略没有会被该故障伤到的锁',
      pending: '还没跑',
      surprise: '与公布的不符',
    },
    took: (seconds) => `，用时 ${seconds} 秒`,
    empty: '运行一开始，矩阵就会逐格填满。',
  },
};
