import type { InBoth } from '../words.js';

export interface ComparisonWords {
  readonly title: string;
  /** Broken into lines, so that all of them fit on a phone. */
  readonly columns: readonly [
    outcome: string,
    p50: string,
    p99: string,
    commands: string,
    overtaken: string,
  ];
  readonly notes: string;
}

export const comparisonWords: InBoth<ComparisonWords> = {
  en: {
    title: 'What an order costs',
    columns: ['outcome', 'p50\nms', 'p99\nms', 'Redis\nper\norder', 'over-\ntaken'],
    notes:
      'p50 and p99: half of the buyers, and 99 % of them, had their answer after so long, from the opening of the doors. Redis per order: the commands that Redis ran for a buyer, those in scripts included. Overtaken: the pairs of buyers who got one in another order than they came. 0 % is a queue, 50 % is chance. A dash: two have bought the same piece, or fewer than two bought.',
  },
  zh: {
    title: '一单的代价',
    columns: ['结果', 'p50\nms', 'p99\nms', 'Redis\n命令\n/单', '被\n插队'],
    notes:
      'p50、p99：一半的买家、99% 的买家在这段时间内得到答复，从开门算起。Redis 命令/单：Redis 为一位买家执行的命令数，脚本里的也算。被插队：买到的人当中，购买顺序与到达顺序相反的买家对所占的百分比，0% 是排队，50% 是碰运气。横线：有人买到同一件，或买到的不足两人。',
  },
};
