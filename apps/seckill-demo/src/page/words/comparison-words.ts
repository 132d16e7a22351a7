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
    title: 'Cost of an order',
    columns: ['outcome', 'p50\nms', 'p99\nms', 'Redis\nper\norder', 'over-\ntaken'],
    notes:
      'p50 and p99: the time from the opening until 50 % and 99 % of the buyers have an answer. Redis per order: the commands that Redis ran for a buyer, including those in scripts. Overtaken: the pairs of buyers who did not buy in the order of their requests. 0 % is a queue, 50 % is chance. For fair, the order is that of its queue in Redis, where its promise begins. A dash: two buyers bought the same piece, or fewer than two bought.',
  },
  zh: {
    title: '每单的开销',
    columns: ['结果', 'p50\nms', 'p99\nms', 'Redis\n命令\n/单', '被\n插队'],
    notes:
      'p50、p99：从开门算起，50%、99% 的买家得到响应所用的时间。Redis 命令/单：Redis 为一位买家执行的命令数，包括脚本中的命令。被插队：在买到的买家中，购买顺序与请求顺序相反的买家对所占的百分比，0% 是排队，50% 是随机。fair 按它在 Redis 中的队列计算：它的承诺从入队开始。横线：两位买家买到同一件，或买到的不足两人。',
  },
};
