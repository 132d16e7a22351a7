import type { InBoth } from '../words.js';

export interface DuelWords {
  readonly again: string;
  readonly lanes: Readonly<Record<'naive' | 'redis-lock', { name: string; what: string }>>;
  readonly crowd: string;
  readonly stock: (pieces: number) => string;
  readonly beyond: string;
  readonly away: string;
  readonly sold: (sold: number, pieces: number) => string;
  readonly waiting: string;
  readonly oversold: (pieces: number) => string;
  readonly right: string;
  readonly soFar: string;
  readonly turnedAway: (buyers: number) => string;
  readonly slowed: (slowness: number) => string;
  readonly took: (realMs: number, slowness: number) => string;
  readonly picture: (name: string, sold: number, pieces: number, away: number) => string;
  readonly asTable: string;
  readonly columns: readonly [string, string, string, string, string];
}

export const duelWords: InBoth<DuelWords> = {
  en: {
    again: 'Play it again',
    lanes: {
      naive: { name: 'No lock', what: 'naive' },
      'redis-lock': { name: 'With this library', what: 'redis-lock' },
    },
    crowd: 'buyers',
    stock: (pieces) => `${pieces} pieces`,
    beyond: 'oversold',
    away: 'sent away',
    sold: (sold, pieces) => `${sold} sold of ${pieces}`,
    waiting: 'The buyers gather at the doors …',
    oversold: (pieces) => `${pieces} oversold`,
    right: 'sold out exactly',
    soFar: 'nothing oversold',
    turnedAway: (buyers) => `${buyers} sent away`,
    slowed: (slowness) => (slowness === 1 ? '' : `slowed ×${slowness}`),
    took: (realMs, slowness) => `took ${realMs} ms${slowness === 1 ? '' : `; slowed ×${slowness}`}`,
    picture: (name, sold, pieces, away) =>
      `${name}: ${sold} of ${pieces} pieces sold, ${Math.max(0, sold - pieces)} oversold, ${away} buyers sent away.`,
    asTable: 'as a table',
    columns: ['strategy', 'sold', 'oversold', 'sent away', 'in ms'],
  },
  zh: {
    again: '重放一遍',
    lanes: {
      naive: { name: '不加锁', what: 'naive' },
      'redis-lock': { name: '用本库加锁', what: 'redis-lock' },
    },
    crowd: '买家',
    stock: (pieces) => `库存 ${pieces} 件`,
    beyond: '超卖',
    away: '被拒',
    sold: (sold, pieces) => `售出 ${sold} / ${pieces}`,
    waiting: '买家正在门口集合……',
    oversold: (pieces) => `超卖 ${pieces} 件`,
    right: '正好卖完',
    soFar: '没有超卖',
    turnedAway: (buyers) => `拒绝 ${buyers} 人`,
    slowed: (slowness) => (slowness === 1 ? '' : `放慢 ×${slowness}`),
    took: (realMs, slowness) => `实际 ${realMs} ms${slowness === 1 ? '' : `，放慢 ×${slowness}`}`,
    picture: (name, sold, pieces, away) =>
      `${name}：库存 ${pieces} 件，售出 ${sold} 件，超卖 ${Math.max(0, sold - pieces)} 件，拒绝 ${away} 人。`,
    asTable: '看表格',
    columns: ['策略', '售出', '超卖', '被拒', '耗时 ms'],
  },
};
