import { expect } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import type { LocalShop } from './local-fleet.js';

export interface OrderAnswer {
  readonly id: string;
  readonly state: string;
  readonly payUntil: string | null;
}

const headers = { 'content-type': 'application/json' };

export const send = (method: string, url: string, body?: unknown) =>
  fetch(url, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });

export const read = async (answer: Response) => (await answer.json()) as OrderAnswer;

/** A slow machine does within this what is to come; the specs of a folder share it. */
export const PATIENT = { withinMs: 30_000 };

let products = 0;

/** A visitor that buys in the real sale; the shop may be opened later. */
export function visit(shop: () => LocalShop) {
  const urlOf = (path: string) => `${shop().fleet.url}/api/${path}`;
  const visitor = {
    async newProduct(stock: number): Promise<string> {
      products += 1;
      const product = `p${products}`;
      const opened = await send('PUT', urlOf(`products/${product}/stock`), { stock });
      expect(opened.status).toBe(200);
      return product;
    },
    place: (product: string, buyer: string) => send('POST', urlOf('orders'), { product, buyer }),
    show: async (id: string) => read(await fetch(urlOf(`orders/${id}`))),
    showLatest: (product: string, buyer: string) =>
      fetch(urlOf(`orders?${new URLSearchParams({ product, buyer })}`)),
    pay: (id: string) => send('POST', urlOf(`orders/${id}/payment`)),
    /** Resolves when the order has come to this state. */
    comes: (id: string, state: string) =>
      eventually(async () => (await visitor.show(id)).state === state, PATIENT),
    async ordered(product: string, buyer: string, state: string): Promise<string> {
      const { id } = await read(await visitor.place(product, buyer));
      await visitor.comes(id, state);
      return id;
    },
    async stockOf(product: string): Promise<number> {
      const answer = await fetch(urlOf(`products/${product}`));
      return ((await answer.json()) as { stock: number }).stock;
    },
  };
  return visitor;
}
