import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../../apps/seckill-demo/src/arena/buyer.js';
import { judge } from '../../apps/seckill-demo/src/arena/fault-judgement.js';
import type { Evidence } from '../../apps/seckill-demo/src/arena/fault-judgement.js';
import type { FaultOutcome } from '../../apps/seckill-demo/src/arena/fault.js';

const answer = (status: number, body = ''): Answer => ({ status, body, servedBy: 1, at: 0 });
const sold = answer(201);
const busy = answer(423);
const soldOut = answer(410);
const stale = answer(500, '{"code":"STALE_WRITE"}');
const lost = answer(500, '{"code":"LEASE_LOST"}');

const books = (stock: number, orders: number, openingStock = 10) => {
  return { id: '1', stock, openingStock, orders, states: {} };
};

describe('judge', () => {
  it.each<[string, Omit<Evidence, 'stock'> & { stock?: number }, FaultOutcome]>([
    ['the holder is dead and the next one bought', { next: sold, state: books(9, 1) }, 'ok'],
    [
      'the holder is dead and the next one cannot buy',
      { next: busy, state: books(10, 0) },
      'stuck',
    ],
    [
      'the holder is dead and has taken the only piece with it',
      { stock: 1, next: soldOut, state: books(1, 0, 1) },
      'lost-piece',
    ],
    [
      'the holder is dead, and its piece is sold',
      { stock: 1, next: soldOut, state: books(0, 1, 1) },
      'error',
    ],
    [
      'the database refused the late holder',
      { first: stale, next: sold, state: books(9, 1) },
      'refused',
    ],
    ['the holder is dead and the shop is broken', { next: lost, state: books(10, 0) }, 'error'],
    ['both bought, one after the other', { first: sold, next: sold, state: books(8, 2) }, 'ok'],
    ['the next one was turned away', { first: sold, next: busy, state: books(9, 1) }, 'ok'],
    [
      'a lock went while its holder was inside',
      { first: sold, next: sold, state: books(8, 2), foreignDelete: true },
      'foreign-delete',
    ],
    [
      'two bought the only piece',
      { stock: 1, first: sold, next: sold, state: books(0, 2, 1) },
      'oversold',
    ],
    [
      'the counter fell behind the orders',
      { first: sold, next: sold, state: books(9, 2) },
      'stale-write',
    ],
    ['the late holder did not write', { first: lost, next: sold, state: books(9, 1) }, 'refused'],
    [
      'the late holder did not write, but the next one did not buy',
      { first: lost, next: busy, state: books(10, 0) },
      'error',
    ],
    [
      'the late holder says it was refused and wrote all the same',
      { first: lost, next: sold, state: books(9, 2) },
      'stale-write',
    ],
    ['the holder got no answer', { first: answer(0), next: sold, state: books(9, 1) }, 'error'],
  ])('%s', (_, evidence, outcome) => {
    expect(judge({ stock: 10, ...evidence })).toBe(outcome);
  });
});
