import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../../apps/seckill-demo/src/arena/buyer.js';
import { judgeCarts } from '../../apps/seckill-demo/src/arena/parts/cart.js';
import { judgeFence } from '../../apps/seckill-demo/src/arena/parts/fence.js';
import { judgeOffer } from '../../apps/seckill-demo/src/arena/parts/offer.js';
import type { OfferEvidence } from '../../apps/seckill-demo/src/arena/parts/offer.js';
import { judgeReports } from '../../apps/seckill-demo/src/arena/parts/report.js';
import { judgeTickets } from '../../apps/seckill-demo/src/arena/parts/ticket.js';
import { judgeOpening } from '../../apps/seckill-demo/src/arena/parts/opening.js';
import { judgePayment } from '../../apps/seckill-demo/src/arena/parts/payment.js';
import { judgeQueue } from '../../apps/seckill-demo/src/arena/parts/queue.js';

const answer = (status: number, body: object = {}): Answer => {
  return { status, body: JSON.stringify(body), servedBy: 1, at: 0 };
};
const times = (count: number, one: Answer) => Array.from({ length: count }, () => one);
const busy = answer(423);
const broken = answer(500);

describe('judgeQueue', () => {
  const bought = (...left: number[]) => left.map((remaining) => answer(201, { remaining }));

  it.each([
    ['no buyer was overtaken', [2, 1, 0], 0, 'ok'],
    ['the last one bought first', [1, 0, 2], 2, 'overtakes'],
    ['two changed places', [2, 0, 1], 1, 'overtakes'],
    ['all the wrong way round', [0, 1, 2], 3, 'overtakes'],
  ])('%s', (_, left, inversions, outcome) => {
    expect(judgeQueue(bought(...left), true)).toMatchObject({ inversions, outcome, buyers: 3 });
  });

  it('says nothing about an order that it does not know', () => {
    expect(judgeQueue([...bought(1, 0), busy], true).outcome).toBe('error');
  });
});

describe('judgeOpening', () => {
  const early = answer(425);
  const sold = answer(201);

  it.each([
    ['all were told to come later', [early, early], [sold, sold], 'ok'],
    ['one process did not wait', [early, sold], [sold, sold], 'sells-early'],
    ['one process never opened', [early, early], [sold, early], 'error'],
    ['something else kept them out', [early, busy], [sold, sold], 'error'],
    ['no buyer was there', [], [], 'error'],
  ])('%s', (_, before, after, outcome) => {
    expect(judgeOpening(before, after)).toMatchObject({ withLock: true, outcome });
  });
});

describe('judgePayment', () => {
  const paid = (inside: number) => answer(201, { inside });

  it.each([
    ['all paid, five at a time', [paid(4), ...times(9, paid(5))], 'ok', { paid: 10, inside: 5 }],
    ['one was one too many', [...times(5, paid(5)), answer(502)], 'overloads', { refused: 1 }],
    ['one had to go away', [...times(5, paid(5)), busy], 'error', { paid: 5, refused: 0 }],
    ['the gateway was never full', times(9, paid(4)), 'error', { inside: 4 }],
  ])('%s', (_, answers, outcome, figures) => {
    expect(judgePayment(answers, true)).toMatchObject({ outcome, ...figures });
  });
});

describe('judgeOffer', () => {
  const old = answer(200, { price: 9_900, stock: 10 });
  const fresh = answer(200, { price: 4_900, stock: 500 });
  const torn = answer(200, { price: 9_900, stock: 500 });
  const right: OfferEvidence = {
    together: 2,
    read: [old, old],
    changedWithin: busy,
    changedAfter: fresh,
  };

  it.each<[string, Partial<OfferEvidence>, string]>([
    ['the merchant waited for the readers', {}, 'ok'],
    ['one saw an old price with new stock', { read: [old, torn] }, 'torn'],
    ['one saw nothing', { read: [old, busy] }, 'error'],
    ['the readers waited for each other', { together: 1 }, 'error'],
    ['the merchant did not wait', { changedWithin: fresh }, 'error'],
    ['the merchant never got in', { changedAfter: busy }, 'error'],
  ])('%s', (_, difference, outcome) => {
    expect(judgeOffer({ ...right, ...difference }, true).outcome).toBe(outcome);
  });

  it('counts who was shown what never was', () => {
    const backwards = answer(200, { price: 4_900, stock: 10 });
    const evidence = { ...right, read: [fresh, torn, backwards] };
    expect(judgeOffer(evidence, false)).toMatchObject({ torn: 2, readers: 3, withLock: false });
  });
});

describe('judgeCarts', () => {
  const books = (openingStock: number, orders: number, stock = openingStock - orders) => {
    return { id: '1', stock, openingStock, orders, states: {} };
  };
  const all = [...times(30, answer(201)), ...times(10, answer(410))];
  const rightly = [books(40, 30), books(30, 30)] as const;

  it.each([
    ['all that could be sold was sold in pairs', all, rightly, 'ok'],
    ['one gave up', [...all, busy], rightly, 'deadlock'],
    ['one piece was sold alone', all, [books(40, 31), books(30, 30)], 'partial'],
    ['one counter is off', all, [books(40, 30, 9), books(30, 30)], 'partial'],
    ['one got no answer', [...all, broken], rightly, 'error'],
    ['too little was sold', times(20, answer(201)), [books(40, 20), books(30, 20)], 'error'],
  ] as const)('%s', (_, answers, states, outcome) => {
    expect(judgeCarts(answers, states, true).outcome).toBe(outcome);
  });
});

describe('judgeTickets', () => {
  const [letIn, away] = [answer(201), answer(429)];

  it.each([
    ['five were let in', [...times(5, letIn), ...times(7, away)], 'ok'],
    ['each process let five in', [...times(10, letIn), ...times(2, away)], 'leaks'],
    ['no buyer was let in', times(12, away), 'error'],
    ['one got no answer', [...times(5, letIn), ...times(6, away), broken], 'error'],
  ] as const)('%s', (_, answers, outcome) => {
    expect(judgeTickets(answers, true).outcome).toBe(outcome);
  });
});

describe('judgeReports', () => {
  const [ran, left] = [answer(200, { ran: true }), answer(200, { ran: false })];

  it.each([
    ['one process ran it', [left, ran, left], 'ok'],
    ['every process ran it', [ran, ran, ran], 'repeats'],
    ['no process ran it', [left, left], 'error'],
    ['one got no answer', [ran, broken], 'error'],
  ] as const)('%s', (_, answers, outcome) => {
    expect(judgeReports(answers, true).outcome).toBe(outcome);
  });
});

describe('judgeFence', () => {
  const done = answer(200, { price: 1 });
  const refused = answer(500, { code: 'STALE_WRITE', message: 'token 33 < 34' });

  it.each([
    ['the late write was refused', refused, done, 4_900, 'refused'],
    ['the late write landed', done, done, 9_900, 'stale-write'],
    [
      'the late write landed, and its author was told that the lock was lost',
      broken,
      done,
      9_900,
      'stale-write',
    ],
    ['it was refused, and landed all the same', refused, done, 9_900, 'stale-write'],
    ['something else kept it out', broken, done, 4_900, 'error'],
    ['the newer one never got in', done, busy, 9_900, 'error'],
    ['neither price stands', refused, done, 1, 'error'],
  ] as const)('%s', (_, late, newer, price, outcome) => {
    expect(judgeFence({ late, newer, price }, true)).toMatchObject({ outcome, price });
  });
});
