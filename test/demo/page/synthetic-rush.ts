import type { Cell, Outcome } from '../../../apps/seckill-demo/src/arena/cell.js';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import type { LoadOutcome } from '../../../apps/seckill-demo/src/arena/load-result.js';
import { loadResult } from '../sample-results.js';

type RushCell = Extract<Cell, { readonly kind: 'duel' | 'rush' }>;

interface Plan {
  readonly stock: number;
  readonly buyers: number;
  readonly expected: Outcome | undefined;
}

const GATED = new Set(['setnx', 'setnx-expire', 'set-nx-px', 'owner-check', 'lua-release']);

/** A crowd in front of one product: all at once without a lock, one after the other with one. */
export function rushSteps(cell: RushCell, from: number, plan: Plan): Step[] {
  const { id, strategy } = cell;
  const outcome = (plan.expected ?? 'exact') as LoadOutcome;
  const sold = outcome === 'oversells' ? plan.buyers : outcome === 'undersells' ? 1 : plan.stock;
  const steps: Step[] = [{ kind: 'cell-began', at: from, cell: id }];
  for (let number = 0; number < plan.buyers; number += 1) {
    steps.push(...orderSteps(cell, from + 300, { number, sold, plan }));
  }
  steps.sort((a, b) => a.at - b.at);
  const result = loadResult({
    strategy,
    processes: cell.processes,
    sold,
    oversold: Math.max(0, sold - plan.stock),
    undersold: sold < plan.stock ? plan.stock - sold : 0,
    refused: plan.buyers - sold,
    commandsPerOrder: 7.25,
    overtaken: outcome === 'exact' ? 49.6 : undefined,
    outcome,
  });
  const ended = { kind: 'cell-ended', at: (steps.at(-1)?.at ?? from) + 5, cell: id } as const;
  const kind = cell.kind;
  return [...steps, { ...ended, outcome, expected: plan.expected, result: { kind, ...result } }];
}

function orderSteps(
  { id: cell, strategy, processes }: RushCell,
  opened: number,
  { number, sold, plan }: { number: number; sold: number; plan: Plan },
): Step[] {
  const process = 4711 + (number % processes);
  const order = { cell, process, buyer: `buyer-${number + 1}` };
  const isAtOnce = sold > plan.stock;
  const begun = opened + (isAtOnce ? number * 0.05 : Math.min(number, sold) * 2);
  const answeredAt = isAtOnce ? opened + 40 + number * 0.6 : begun + 1.8 + number * 0.05;
  if (number >= sold) {
    const answer = GATED.has(strategy) ? 'busy' : 'sold-out';
    return [{ kind: 'answered', at: answeredAt, ...order, answer, tookMs: answeredAt - opened }];
  }
  const passed = (at: number, point: 'lock-set' | 'before-read' | 'before-write' | 'after-write') =>
    ({ kind: 'passed', at, ...order, point }) as const;
  const written = isAtOnce ? answeredAt - 0.3 : begun + 1;
  const remaining = Math.max(0, plan.stock - number - 1);
  return [
    ...(isAtOnce ? [] : [passed(begun, 'lock-set')]),
    passed(begun + 0.2, 'before-read'),
    passed(begun + 0.5, 'before-write'),
    passed(written, 'after-write'),
    ...(strategy === 'redis-lock' || strategy === 'fair'
      ? [
          {
            kind: 'lock',
            at: begun,
            process,
            event: 'acquired',
            cell,
            buyer: order.buyer,
          } as const,
          {
            kind: 'lock',
            at: begun + 1.5,
            process,
            event: 'released',
            cell,
            buyer: order.buyer,
          } as const,
        ]
      : []),
    {
      kind: 'answered',
      at: answeredAt,
      ...order,
      answer: 'sold',
      remaining,
      tookMs: answeredAt - opened,
    },
  ];
}
