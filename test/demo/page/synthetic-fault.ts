import type { Cell } from '../../../apps/seckill-demo/src/arena/cell.js';
import { EXPECTED } from '../../../apps/seckill-demo/src/arena/expected-matrix.js';
import type { Happening, Step } from '../../../apps/seckill-demo/src/arena/step.js';
import type { GatePoint } from '../../../apps/seckill-demo/src/seckill/gate.js';
import type { StrategyName } from '../../../apps/seckill-demo/src/strategies/strategy.js';

type FaultCell = Extract<Cell, { readonly kind: 'fault' }>;

const LEASE = 1_000;
const FIRST = 4711;
const NEXT = 4712;
const NO_LOCK: readonly StrategyName[] = ['naive', 'in-process', 'lock-in-tx'];
const isRenewed = (strategy: StrategyName) =>
  strategy !== 'setnx' && EXPECTED[strategy].faults['slow-work'] === 'ok';

/** Writes down what happens in one cell, by the ms since the cell began. */
class Script {
  readonly steps: Step[] = [];

  constructor(
    private readonly cell: FaultCell,
    private readonly from: number,
  ) {}

  tell(after: number, happening: Happening): void {
    this.steps.push({ at: this.from + after, ...happening });
  }

  pass(after: number, process: number, point: GatePoint): void {
    const buyer = process === FIRST ? 'first' : 'next';
    this.tell(after, { kind: 'passed', cell: this.cell.id, process, buyer, point });
    if (point === 'lock-set') this.key(after, process === FIRST ? 33 : 34, process);
  }

  answer(after: number, process: number, answer: 'sold' | 'busy' | 'refused' | 'cut'): void {
    const buyer = process === FIRST ? 'first' : 'next';
    this.tell(after, {
      kind: 'answered',
      cell: this.cell.id,
      buyer,
      process: answer === 'cut' ? 0 : process,
      answer,
      reason: answer === 'refused' ? 'token 33 < 34' : undefined,
      tookMs: after,
    });
  }

  key(after: number, token?: number, process?: number, queue: string[] = []): void {
    const name = 'product_17';
    const seen = { kind: 'key', cell: this.cell.id, name, queue } as const;
    if (process === undefined) {
      this.tell(after, seen);
      return;
    }
    const ttlMs = this.cell.strategy === 'setnx' ? undefined : LEASE;
    const fields: Record<string, string> = isRenewed(this.cell.strategy)
      ? { [`8a1f…:${process}`]: '1' }
      : { '': this.cell.strategy.startsWith('set') ? '123' : `uuid-of-${process}` };
    this.tell(after, {
      ...seen,
      fields,
      ttlMs,
      token: token === undefined ? undefined : `${token}`,
    });
  }

  sell(after: number, process: number): void {
    this.pass(after, process, 'lock-set');
    this.pass(after + 2, process, 'before-read');
    this.pass(after + 6, process, 'before-write');
    this.pass(after + 14, process, 'after-write');
    this.pass(after + 18, process, 'before-delete');
    this.key(after + 20);
    this.answer(after + 24, process, 'sold');
  }
}

export function faultSteps(cell: FaultCell, from: number): Step[] {
  const script = new Script(cell, from);
  const expected = EXPECTED[cell.strategy].faults[cell.fault];
  script.tell(0, { kind: 'cell-began', cell: cell.id });
  if (!NO_LOCK.includes(cell.strategy)) play(script, cell);
  const { strategy, fault } = cell;
  const result = { kind: 'fault', strategy, fault, outcome: expected } as const;
  const end = Math.max(...script.steps.map(({ at }) => at)) - from + 10;
  script.tell(end, { kind: 'cell-ended', cell: cell.id, outcome: expected, expected, result });
  return script.steps.sort((a, b) => a.at - b.at);
}

function play(script: Script, cell: FaultCell): void {
  script.pass(20, FIRST, 'lock-set');
  switch (cell.fault) {
    case 'killed-in-section':
    case 'killed-before-expire':
      killed(script, cell);
      break;
    case 'slow-work':
    case 'lease-ends-before-del':
      outlived(script, cell);
      break;
    case 'frozen':
      frozen(script, cell);
      break;
  }
}

function killed(script: Script, { strategy, fault, id: cell }: FaultCell): void {
  script.pass(24, FIRST, 'before-read');
  if (fault === 'killed-in-section') script.pass(30, FIRST, 'before-write');
  script.tell(60, { kind: 'struck', cell, process: FIRST, what: 'killed' });
  script.tell(62, { kind: 'process', process: FIRST, state: 'ended' });
  script.answer(64, FIRST, 'cut');
  script.tell(66, { kind: 'process', process: FIRST, state: 'started' });
  if (EXPECTED[strategy].faults[fault] === 'stuck') {
    script.answer(140, NEXT, 'busy');
    return;
  }
  if (!isRenewed(strategy)) script.tell(80, { kind: 'struck', cell, what: 'lease-ended' });
  const free = isRenewed(strategy) ? 20 + LEASE : 80;
  script.key(free);
  script.sell(free + 10, NEXT);
}

function outlived(script: Script, { strategy, fault, id: cell }: FaultCell): void {
  script.pass(24, FIRST, 'before-read');
  script.pass(30, FIRST, 'before-write');
  const isDone = fault === 'lease-ends-before-del';
  if (isDone) {
    script.pass(36, FIRST, 'after-write');
    script.pass(40, FIRST, 'before-delete');
  }
  if (isRenewed(strategy)) {
    for (let at = 20 + LEASE / 3; at < 20 + 1.5 * LEASE; at += LEASE / 3) {
      script.tell(at, { kind: 'lock', process: FIRST, event: 'renewed' });
      script.key(at, 33, FIRST, ['4712']);
    }
    script.tell(60, { kind: 'lock', cell, process: NEXT, event: 'waiting', buyer: 'next' });
    if (!isDone) script.pass(1_560, FIRST, 'after-write');
    script.tell(1_570, { kind: 'lock', cell, process: FIRST, event: 'released', buyer: 'first' });
    script.answer(1_574, FIRST, 'sold');
    script.sell(1_572, NEXT);
    return;
  }
  const isForeign = EXPECTED[strategy].faults[fault] === 'foreign-delete';
  if (strategy !== 'setnx') {
    script.tell(60, { kind: 'struck', cell, process: FIRST, what: 'lease-ended' });
    script.key(61);
    script.pass(80, NEXT, 'lock-set');
    script.pass(82, NEXT, 'before-read');
    script.pass(88, NEXT, 'before-write');
  }
  if (!isDone) script.pass(140, FIRST, 'after-write');
  if (isForeign) {
    script.tell(150, { kind: 'struck', cell, process: FIRST, what: 'foreign-delete' });
    script.key(150);
  }
  script.answer(156, FIRST, 'sold');
  if (strategy === 'setnx') {
    script.answer(130, NEXT, 'busy');
    return;
  }
  script.pass(180, NEXT, 'after-write');
  script.pass(186, NEXT, 'before-delete');
  script.answer(192, NEXT, 'sold');
}

function frozen(script: Script, { strategy, id: cell }: FaultCell): void {
  script.pass(24, FIRST, 'before-read');
  script.pass(30, FIRST, 'before-write');
  script.tell(50, { kind: 'struck', cell, process: FIRST, what: 'frozen' });
  const isFixed = !isRenewed(strategy);
  if (strategy === 'setnx') {
    script.answer(120, NEXT, 'busy');
    script.tell(150, { kind: 'struck', cell, process: FIRST, what: 'thawed' });
    script.pass(154, FIRST, 'after-write');
    script.answer(160, FIRST, 'sold');
    return;
  }
  const free = isFixed ? 80 : 20 + LEASE;
  if (isFixed) script.tell(free, { kind: 'struck', cell, process: FIRST, what: 'lease-ended' });
  script.key(free + 1);
  script.sell(free + 10, NEXT);
  script.tell(free + 80, { kind: 'struck', cell, process: FIRST, what: 'thawed' });
  if (EXPECTED[strategy].faults.frozen !== 'refused') {
    script.pass(free + 88, FIRST, 'after-write');
    script.answer(free + 94, FIRST, 'sold');
    return;
  }
  script.tell(free + 82, { kind: 'lock', cell, process: FIRST, event: 'suspect', buyer: 'first' });
  script.tell(free + 86, { kind: 'lock', cell, process: FIRST, event: 'lost', reason: 'expired' });
  script.tell(free + 88, { kind: 'struck', cell, process: FIRST, what: 'stale-refused' });
  script.answer(free + 90, FIRST, 'refused');
}
