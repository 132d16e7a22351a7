// A flash sale: the holder reads the stock, and writes one less.
import { Redis } from 'ioredis';
import { inTime, now, until } from '../clock.mjs';
import { costMeasures } from '../contended.mjs';
import { ALL } from '../lockers/who.mjs';
import { overlapsOf, visitsOf } from '../statistics.mjs';
import { HOST } from '../terms.mjs';
import { Visits } from '../visits.mjs';

export const title = 'G. Flash sale: stock 1000, 2000 buyers';
export const lockers = ALL;

const STOCK = 1_000;
const BUYERS = 2_000;
const CUT_MS = 2_000;
const HEAD_START_MS = 5;
const WARM_UP = 5_000;

const COMMON = {
  cores: 'split',
  headline: 'ordersPerS',
  columns: [
    ...['servedPct', 'commandsPerOp', 'callsPerOp', 'redisUsPerOp', 'clientUsPerOp'],
    ...['overlaps', 'oversold'],
  ],
};

export const trials = [
  { ...COMMON, id: 'G 1 process', title: 'one process', processes: 1 },
  { ...COMMON, id: 'G 4 processes', title: '4 processes', processes: 4 },
];

/** @type {Redis} */
let shop;

export const actions = {
  async open(_locker, { port, stock }) {
    shop = new Redis(port, HOST);
    // V8 has compiled ioredis only in a process whose locks use it.
    for (let i = 0; i < WARM_UP; i++) await shop.get('stock');
    await shop.set('stock', stock);
  },
  stock: async () => Number(await shop.get('stock')),
  sell,
};

async function sell({ acquire }, { buyers, cutMs, startAt }) {
  const visits = new Visits();
  const orders = [];
  const buy = async (_, flow) => {
    const asked = visits.ask(flow);
    const release = await acquire('sale');
    const entered = visits.enter(asked);
    const left = Number(await shop.get('stock'));
    if (left > 0) {
      await shop.set('stock', left - 1);
      orders.push(now());
    }
    visits.leave(entered);
    await release();
  };
  await until(startAt);
  const sale = Promise.all(Array.from({ length: buyers }, buy));
  await inTime(sale, cutMs);
  return { orders: orders.slice(), endedAt: now(), ...visits.close() };
}

export async function drive(crew, { processes }, { pace, port }) {
  await crew.all('open', { port, stock: STOCK });
  const order = { buyers: BUYERS / processes, cutMs: CUT_MS * pace.share };
  const startAt = now() + HEAD_START_MS;
  const { result, cost } = await crew.measured(() => crew.all('sell', { ...order, startAt }));
  const orders = result.flatMap((report) => report.orders);
  const sold = STOCK - (await crew.one(0, 'stock'));
  const visits = visitsOf(result);
  const endedAt = Math.max(
    ...(orders.length < STOCK ? result.map((each) => each.endedAt) : orders),
  );
  return {
    ordersPerS: (1e3 * orders.length) / (endedAt - startAt),
    servedPct: (100 * visits.length) / BUYERS,
    overlaps: overlapsOf(visits),
    oversold: Math.max(0, orders.length - sold),
    ...costMeasures(cost, orders.length),
  };
}
