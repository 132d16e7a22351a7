import { z } from 'zod';
import { CartController } from '../cart/cart.controller.js';
import { ORDER_STATES } from '../database/tables.js';
import { OfferController } from '../offer/offer.controller.js';
import { OrdersController } from '../orders/orders.controller.js';
import { PaymentController } from '../payment/payment.controller.js';
import { PriceController } from '../price/price.controller.js';
import { ReportController } from '../report/report.controller.js';
import { SeckillController } from '../seckill/seckill.controller.js';
import { TicketController } from '../ticket/ticket.controller.js';
import { describe } from './describe.js';

const OUTAGE = { 503: 'Redis or Postgres cannot be reached' };
const INPUT = { 400: 'The input is wrong', ...OUTAGE };
const BODY = { ...INPUT, 413: 'The body is larger than 100 kB' };
const NO_PRODUCT = { 404: 'No such product' };
const TOO_EARLY = { 425: 'Not every process is ready' };
const SALE = { 409: 'This buyer has an order', 410: 'Sold out', ...NO_PRODUCT, ...TOO_EARLY };
const NO_ORDER = { 404: 'No such order' };

const Count = z.int().min(0);
const Remaining = z.object({ remaining: Count });
const State = z.enum(ORDER_STATES);
const Product = z.object({
  id: z.string(),
  stock: Count,
  openingStock: Count,
  orders: Count.describe('With a piece'),
  states: z.partialRecord(State, Count),
});
const Offer = z.object({ price: Count.describe('In cents'), stock: Count });
const Order = z.object({
  id: z.uuid(),
  product: z.string(),
  buyer: z.string(),
  state: State,
  payUntil: z.iso.datetime().nullable(),
});

describe(SeckillController, 'sale by the stages', {
  order: {
    summary: 'Order a piece, with the stage of the tutorial in `strategy`',
    answer: [201, 'Sold; what remains', Remaining],
    refusals: { ...BODY, ...SALE, 423: 'Busy' },
    locks: true,
  },
  cancel: {
    summary: 'Cancel an order, and put its piece back in stock',
    answer: [200, 'Cancelled; what remains', Remaining],
    refusals: { ...INPUT, ...NO_ORDER },
    locks: true,
  },
  show: {
    summary: 'Show a product',
    answer: [200, 'Its stock and its orders', Product],
    refusals: { ...INPUT, ...NO_PRODUCT },
  },
  openSale: {
    summary: 'Open a new sale without orders',
    answer: [200, 'Opened', Product],
    refusals: BODY,
    locks: true,
  },
});
describe(PaymentController, 'sale by the stages', {
  pay: {
    summary: 'Pay for an order without a deadline',
    answer: [201, 'Paid; the number of payments in the gateway', z.object({ inside: Count })],
    refusals: { ...INPUT, ...NO_ORDER, 409: 'Paid already' },
    locks: true,
  },
});
describe(OfferController, 'other locks', {
  read: {
    summary: 'Show price and stock',
    answer: [200, 'Both at the same moment', Offer],
    refusals: { ...INPUT, 404: 'No such offer' },
    locks: true,
  },
  change: {
    summary: 'Set a new price for a new sale',
    answer: [200, 'Changed', Offer],
    refusals: BODY,
    locks: true,
  },
});
describe(PriceController, 'other locks', {
  change: {
    summary: 'Set a new price, behind the fence unless `strategy` is `unfenced`',
    answer: [200, 'Changed', Offer.pick({ price: true })],
    refusals: { ...BODY, 500: 'A newer holder has written', ...NO_PRODUCT },
    locks: true,
  },
});
describe(CartController, 'other locks', {
  order: {
    summary: 'Order one piece of each product, or nothing',
    answer: [
      201,
      'Sold; the remaining pieces of each',
      z.object({ remaining: z.record(z.string(), Count) }),
    ],
    refusals: { ...BODY, ...SALE },
    locks: true,
  },
});
describe(TicketController, 'other locks', {
  take: {
    summary: 'Take a ticket: five in ten seconds',
    answer: [201, 'Let in', z.object({ visitor: z.string() })],
    refusals: { ...BODY, 429: 'Too many attempts; `Retry-After` is the time to wait' },
  },
});
describe(ReportController, 'other locks', {
  run: {
    summary: 'Run the daily report, unless another process has run it',
    answer: [200, 'Whether this process ran it', z.object({ ran: z.boolean() })],
    refusals: INPUT,
  },
});
describe(OrdersController, 'real sale', {
  place: {
    summary: 'Order a piece: stored at once, decided in its turn',
    answer: [202, 'Queued; `Location` shows it', z.object({ id: z.uuid(), state: State })],
    refusals: { ...BODY, ...NO_PRODUCT, ...TOO_EARLY, 409: SALE[409] },
  },
  showLatest: {
    summary: 'Show the latest order of a buyer',
    answer: [200, 'Its state, and its deadline for the payment', Order],
    refusals: { ...INPUT, ...NO_ORDER },
  },
  show: {
    summary: 'Show an order',
    answer: [200, 'Its state, and its deadline for the payment', Order],
    refusals: { ...INPUT, ...NO_ORDER },
  },
  pay: {
    summary: 'Pay for an order before its deadline',
    answer: [201, 'Paid', Order],
    refusals: { ...INPUT, ...NO_ORDER, 409: 'It cannot be paid now', 410: 'It has no piece' },
    locks: true,
  },
});
