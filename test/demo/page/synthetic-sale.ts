import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';

/** The shop that serves afterwards, for some seconds: robots buy, a process is frozen. */
export function saleSteps(from: number): Step[] {
  const steps: Step[] = [
    {
      kind: 'sale-opened',
      at: from,
      url: 'http://127.0.0.1:3000',
      product: '1',
      stock: 100,
      forbidden: { 'redis-fail-over': 'foreign-redis' },
    },
  ];
  for (let number = 0; number < 200; number += 1) steps.push(...robot(number, from + 500));
  steps.push({ kind: 'struck', at: from + 3_000, cell: 'live', process: 4711, what: 'frozen' });
  steps.push({ kind: 'struck', at: from + 6_000, cell: 'live', process: 4711, what: 'thawed' });
  steps.push({ kind: 'reconciled', at: from + 6_500, process: 4712, differences: [] });
  return steps.sort((a, b) => a.at - b.at);
}

function robot(number: number, from: number): Step[] {
  const at = from + number * 31;
  const process = 4711 + (number % 2);
  const order = { cell: 'live', process, buyer: `robot-${number + 1}` };
  const isSold = number < 100;
  const tookMs = 6 + ((number * 7) % 23);
  const stock = Math.max(0, 99 - number);
  const waiting = Math.max(0, 12 - Math.abs((number % 50) - 25));
  return [
    { kind: 'waiters', at, process, waiting },
    ...(isSold
      ? ([
          { kind: 'passed', at: at + 2, ...order, point: 'lock-set' },
          { kind: 'passed', at: at + 4, ...order, point: 'before-write' },
          { kind: 'passed', at: at + 12, ...order, point: 'after-write' },
          { kind: 'lock', at: at + 14, ...order, event: 'released' },
          { kind: 'order', at: at + 15, order: `${number}`, buyer: order.buyer, state: 'pending' },
        ] as const)
      : []),
    { kind: 'answered', at: at + 15, ...order, answer: isSold ? 'sold' : 'sold-out', tookMs },
    {
      kind: 'books',
      at: at + 16,
      product: '1',
      openingStock: 100,
      stock,
      orders: 100 - stock,
      states: { reserved: 20, paid: Math.max(0, 80 - stock) },
      difference: 0,
    },
  ];
}
