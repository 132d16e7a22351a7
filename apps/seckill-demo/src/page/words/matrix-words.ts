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
      'Up to redis-lock, each row fixes a flaw of the row above. Each column breaks the sale in a different way. Choose a cell to replay it slowly.',
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
      none: 'not affected: the strategy has no lock that this fault can break',
      pending: 'not played yet',
      surprise: 'not as published',
    },
    took: (seconds) => ` in ${seconds} s`,
    empty: 'The matrix fills when the run begins.',
  },
  zh: {
    title: (ways) => `一件商品，${ways} 种卖法`,
    intro:
      '从上到下，每一行修复上一行的漏洞，直到 redis-lock；每一列以一种方式破坏这场秒杀。选择一格，即可慢速回放。',
    strategy: '策略',
    processes: (number) => `抢购，\n${number} 个进程`,
    pending: '尚未运行',
    running: '正在运行',
    unlike: (expected) => `与预期不符：${expected}`,
    progress: (done, all) => `已完成 ${done} / ${all} 格`,
    surprises: (cells) => `${cells} 格与预期不符`,
    noSurprise: '全部符合预期',
    legend: {
      right: '结果正确',
      harm: '出错',
      none: '不适用：这种策略没有会受该故障影响的锁',
      pending: '尚未运行',
      surprise: '与预期不符',
    },
    took: (seconds) => `，用时 ${seconds} 秒`,
    empty: '运行开始后，矩阵会逐格填满。',
  },
};
