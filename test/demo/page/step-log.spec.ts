import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../apps/seckill-demo/src/arena/step.js';
import { SALE, StepLog } from '../../../apps/seckill-demo/src/page/step-log.js';

const began: Step = { kind: 'cell-began', at: 1, cell: 'fault/fair/frozen' };
const ended: Step = {
  kind: 'cell-ended',
  at: 9,
  cell: 'fault/fair/frozen',
  outcome: 'refused',
  result: { kind: 'fault', strategy: 'fair', fault: 'frozen', outcome: 'refused' },
};
const renewed: Step = { kind: 'lock', at: 2, process: 7, event: 'renewed' };

function logOf(...steps: Step[]): StepLog {
  const log = new StepLog();
  for (const step of steps) log.add(step);
  return log;
}

describe('the log of steps', () => {
  it('adds what a process does to the cell that is being played', () => {
    expect(logOf(began, renewed, ended).of('fault/fair/frozen')).toEqual([began, renewed, ended]);
  });

  it('adds it to the sale when no cell is being played', () => {
    const log = logOf(began, ended, renewed);
    expect(log.of('fault/fair/frozen')).toEqual([began, ended]);
    expect(log.of(SALE)).toEqual([renewed]);
  });

  it('adds to no cell how many wait, while two are being played', () => {
    const waiters: Step = { kind: 'waiters', at: 3, process: 7, waiting: 4 };
    const log = logOf({ ...began, cell: 'duel/naive' }, waiters, began, waiters);
    expect(log.of('duel/naive')).toEqual([{ ...began, cell: 'duel/naive' }, waiters]);
    expect(log.of('fault/fair/frozen')).toEqual([began]);
  });

  it('begins a cell anew when it is played again', () => {
    expect(logOf(began, renewed, ended, began).of('fault/fair/frozen')).toEqual([began]);
  });

  it('keeps a bounded part of the sale', () => {
    const log = new StepLog();
    for (let at = 0; at < 20_000; at += 1) log.add({ ...renewed, at });
    expect(log.of(SALE).length).toBeLessThanOrEqual(8_000);
    expect(log.of(SALE).at(-1)?.at).toBe(19_999);
  });
});
