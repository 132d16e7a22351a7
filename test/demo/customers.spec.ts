import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Customers } from '../../apps/seckill-demo/src/arena/customers.js';
import { Steps } from '../../apps/seckill-demo/src/arena/steps.js';
import { eventually } from '../support/eventually.js';

describe('robots that have a piece', () => {
  let shop: Server;
  /** Statuses of the next answers, by the order that is paid; afterwards it is 201. */
  let answers: Record<string, number[]>;
  let paid: string[];
  let steps: Steps;
  let leaving: AbortController;
  beforeEach(async () => {
    answers = {};
    paid = [];
    shop = createServer((request, response) => {
      const order = request.url?.split('/').at(-2) ?? '';
      paid.push(order);
      const status = answers[order]?.shift() ?? 201;
      if (status === 0) request.socket.destroy();
      else response.writeHead(status).end('{}');
    });
    await once(shop.listen(0, '127.0.0.1'), 'listening');
    steps = new Steps();
    leaving = new AbortController();
    const url = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    void new Customers(url, '1', steps, leaving.signal).letRobotsPay();
  });
  afterEach(() => {
    leaving.abort();
    shop.close();
  });

  const moved = (buyer: string, state: string) => {
    steps.add({ kind: 'order', order: `order-of-${buyer}`, buyer, state });
  };

  it('pay until it is decided, whatever becomes of the process that they ask', async () => {
    answers['order-of-robot-1'] = [0, 423, 503];
    answers['order-of-robot-2'] = [410];
    moved('robot-1', 'reserved');
    moved('robot-2', 'reserved');
    await eventually(() => expect(paid.filter((order) => order.endsWith('1'))).toHaveLength(4));
    expect(paid.filter((order) => order.endsWith('2'))).toHaveLength(1);
  });

  it('pay for themselves, when they have it, and every fifth of them forgets it', async () => {
    moved('alice', 'reserved');
    moved('robot-3', 'sold-out');
    moved('robot-5', 'reserved');
    moved('robot-4', 'reserved');
    await eventually(() => expect(paid).toEqual(['order-of-robot-4']));
  });
});
