import type { Database } from '../../../../apps/seckill-demo/src/database/tables.js';
import type { Random } from '../../../support/random.js';
import { pause } from '../pace.js';
import type { ShopCrew } from './shop-crew.js';

export interface SaleOptions {
  readonly crew: ShopCrew;
  readonly database: Database;
  readonly random: Random;
  readonly payWithinMs: number;
}

const OPEN_AT_ONCE = 3;
const STOCK = 12;
const LOOKS_EVERY_MS = 50;
/** The answers that a buyer may get. 500 says that the fate of a permit was lost with Redis. */
const HONEST = new Set([200, 201, 202, 409, 410, 423, 500, 503]);

/** Buyers who order and pay all the time, of products that sell out one after the other. */
export class Sale {
  /** Ids of orders that were answered with 202. */
  readonly accepted = new Set<string>();
  /** Ids of orders whose payment was answered with 201. */
  readonly thanked = new Set<string>();
  readonly statuses: Record<string, number> = {};
  /** Answers that no buyer may get. */
  readonly odd: string[] = [];
  readonly #products: string[] = [];
  readonly #open = new Set<string>();
  #isClosing = false;
  #hasEnded = false;

  constructor(private readonly options: SaleOptions) {}

  get products(): readonly string[] {
    return this.#products;
  }

  get isSoldOut(): boolean {
    return this.#open.size === 0;
  }

  async open(): Promise<void> {
    while (this.#open.size < OPEN_AT_ONCE) await this.#openProduct();
  }

  async attract(count: number): Promise<void> {
    const buyers = Array.from({ length: count }, (_, place) => this.#shopping(place));
    await Promise.all(buyers);
  }

  /** The pieces on the shelf are sold, and nothing else. */
  close(): void {
    this.#isClosing = true;
  }

  end(): void {
    this.#hasEnded = true;
  }

  async #openProduct(): Promise<void> {
    const product = `p${this.#products.length + 1}`;
    this.#products.push(product);
    const random = this.options.random.fork(product);
    for (;;) {
      const path = `products/${product}/stock`;
      const answer = await this.options.crew.ask(random, 'PUT', path, { stock: STOCK });
      if (answer?.status === 200) break;
      await pause(LOOKS_EVERY_MS);
    }
    this.#open.add(product);
  }

  async #shopping(place: number): Promise<void> {
    const random = this.options.random.fork(`buyer ${place}`);
    for (let turn = 1; !this.#hasEnded && !this.isSoldOut; turn += 1) {
      const product = random.pick([...this.#open]);
      await this.#buy(product, `buyer-${place}-${turn}`, random);
    }
  }

  async #buy(product: string, buyer: string, random: Random): Promise<void> {
    const placed = await this.#ask(random, 'POST', 'orders', { product, buyer });
    const id = placed?.body.id;
    if (placed?.status !== 202 || id === undefined) return pause(LOOKS_EVERY_MS);
    this.accepted.add(id);
    const state = await this.#answerTo(id, random);
    if (state === 'sold-out') await this.#lookAtShelf(product);
    // Some never pay, and some come at the last moment, or later.
    if (state !== 'reserved' || random.chance(0.15)) return;
    if (random.chance(0.3)) await pause(this.options.payWithinMs * (0.8 + 0.4 * random.next()));
    const times = random.chance(0.2) ? 2 : 1;
    const path = `orders/${id}/payment`;
    const payments = Array.from({ length: times }, () => this.#ask(random, 'POST', path));
    for (const answer of await Promise.all(payments)) {
      if (answer?.status === 201) this.thanked.add(id);
    }
  }

  async #answerTo(id: string, random: Random): Promise<string | undefined> {
    while (!this.#hasEnded) {
      const answer = await this.#ask(random, 'GET', `orders/${id}`);
      if (answer?.status === 404) this.odd.push(`order ${id} does not exist`);
      if (answer?.status === 200 && answer.body.state !== 'queued') return answer.body.state;
      await pause(LOOKS_EVERY_MS);
    }
    return undefined;
  }

  /** A product is over when all its pieces are paid; until then one may come back. */
  async #lookAtShelf(product: string): Promise<void> {
    const { count } = await this.options.database
      .selectFrom('orders')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('product_id', '=', product)
      .where('state', '=', 'paid')
      .executeTakeFirstOrThrow();
    if (Number(count) < STOCK) return pause(LOOKS_EVERY_MS);
    if (this.#open.delete(product) && !this.#isClosing) await this.#openProduct();
  }

  async #ask(...[random, method, path, body]: Parameters<ShopCrew['ask']>) {
    const answer = await this.options.crew.ask(random, method, path, body);
    const status = answer?.status ?? 'cut';
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (answer !== undefined && !HONEST.has(answer.status)) {
      this.odd.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer;
  }
}
