import { describe, expect, it } from '@jest/globals';
import { ControlledGate } from '../../apps/seckill-demo/src/arena/controlled-gate.js';
import type { GatePoint } from '../../apps/seckill-demo/src/seckill/gate.js';

describe('ControlledGate', () => {
  it('lets all callers pass until it is closed', async () => {
    const held: GatePoint[] = [];
    const gate = new ControlledGate((point) => held.push(point));
    await gate.reach('doors');
    expect(held).toEqual([]);
  });

  it('holds as many as it was told to, at that point only', async () => {
    const held: GatePoint[] = [];
    const passed: string[] = [];
    const gate = new ControlledGate((point) => held.push(point));
    gate.close('before-write', 2);
    const orders = ['a', 'b'].map(async (order) => {
      await gate.reach('before-write');
      passed.push(order);
    });
    await gate.reach('before-write');
    await gate.reach('before-delete');
    expect([held, passed]).toEqual([['before-write', 'before-write'], []]);

    gate.open('before-write');
    await Promise.all(orders);
    expect(passed).toEqual(['a', 'b']);
  });

  it('stays open after it was opened', async () => {
    const gate = new ControlledGate(() => undefined);
    gate.close('doors', 5);
    gate.open('doors');
    await gate.reach('doors');
  });
});
