import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject } from '@nestjs/swagger';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { eventually } from '../support/eventually.js';
import { openLocalShop } from './local-fleet.js';
import type { LocalShop } from './local-fleet.js';
import { PATIENT, visit } from './visitor.js';

interface Operation {
  readonly summary?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: object;
  readonly responses: Record<string, { readonly headers?: object; readonly content?: object }>;
}

interface Health {
  readonly status: string;
  readonly error: Record<string, { readonly message: string }>;
  readonly details: Record<string, { readonly status: string; readonly differences?: string[] }>;
}

const CONNECTIONS = 10;

const healthOf = async ({ fleet }: LocalShop) => {
  const answer = await fetch(`${fleet.url}/health`);
  return { status: answer.status, health: (await answer.json()) as Health };
};

const metricsOf = async ({ fleet }: LocalShop) => (await fetch(`${fleet.url}/metrics`)).text();
const valueOf = (text: string, metric: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${metric} `))
      ?.slice(metric.length),
  );

describe('what an operator looks at', () => {
  let shop: LocalShop;
  beforeAll(async () => {
    shop = await openLocalShop({ realSale: true });
  });
  afterAll(() => shop.close());
  const visitor = visit(() => shop);

  describe('/api', () => {
    const operations = new Map<string, Operation>();
    const operation = (name: string) => {
      const found = operations.get(name);
      if (found === undefined) throw new Error(`${name} is not in the document`);
      return found;
    };
    beforeAll(async () => {
      const answer = await fetch(`${shop.fleet.url}/api-json`);
      const { paths } = (await answer.json()) as OpenAPIObject;
      for (const [path, verbs] of Object.entries(paths)) {
        for (const [verb, value] of Object.entries(verbs as Record<string, Operation>)) {
          operations.set(`${verb.toUpperCase()} ${path}`, value);
        }
      }
    });

    it('is a page, with its style and its script', async () => {
      for (const [path, type] of [
        ['/api', 'text/html'],
        ['/api/swagger-ui.css', 'text/css'],
        ['/api/swagger-ui-init.js', 'application/javascript'],
      ] as const) {
        const answer = await fetch(`${shop.fleet.url}${path}`);
        expect([path, answer.status, answer.headers.get('content-type')]).toEqual([
          path,
          200,
          expect.stringMatching(`^${type}`),
        ]);
      }
    });

    it('says of every route what it does, and how an error looks', () => {
      for (const [name, { summary, responses }] of operations) {
        expect([name, summary]).toEqual([name, expect.stringMatching(/./)]);
        for (const [status, { content }] of Object.entries(responses)) {
          expect([name, status, content]).toEqual([name, status, expect.anything()]);
        }
      }
    });

    it('has every route of the README, with its answers', async () => {
      const file = new URL('../../apps/seckill-demo/README.md', import.meta.url);
      const rows = (await readFile(file, 'utf8')).matchAll(
        /^\| `([A-Z]+ [^\s`]+)[^|]*\|([^|]*)\|$/gm,
      );
      const published = [...rows].map(([, name = '', answers = '']) => ({
        name: name.replace(/:(\w+)/g, '{$1}'),
        statuses: [...answers.matchAll(/\b\d{3}\b/g)].map(([status]) => status),
      }));
      expect(published).toHaveLength(11);
      for (const { name, statuses } of published) {
        expect([name, Object.keys(operation(name).responses)]).toEqual([
          name,
          expect.arrayContaining(statuses),
        ]);
      }
    });

    it('describes the input by the schemas that check it', () => {
      expect(operation('POST /api/products/{id}/orders').parameters).toMatchObject([
        { name: 'id', in: 'path', required: true, schema: { pattern: expect.anything() } },
        { name: 'strategy', in: 'query', required: false, schema: { enum: [...STRATEGY_NAMES] } },
      ]);
      expect(operation('POST /api/orders').requestBody).toMatchObject({
        content: { 'application/json': { schema: { required: ['product', 'buyer'] } } },
      });
    });

    it('has the answers of the lock library where a lock is taken', () => {
      const answers = (name: string) => operation(name).responses;
      for (const name of ['POST /api/orders/{id}/payment', 'PUT /api/products/{id}/stock']) {
        expect(answers(name)[423]?.headers).toMatchObject({ 'Retry-After': expect.anything() });
      }
      expect(answers('GET /api/products/{id}')).not.toHaveProperty('423');
    });
  });

  describe('/health', () => {
    it('is 200 while the process can sell', async () => {
      const { status, health } = await healthOf(shop);
      expect(status).toBe(200);
      expect(health.status).toBe('ok');
      expect(Object.keys(health.details)).toEqual(['locks', 'postgres', 'books']);
    });

    it('is degraded, and still 200, while the books differ', async () => {
      const product = await visitor.newProduct(1);
      await visitor.ordered(product, 'alice', 'reserved');
      const setStock = (stock: number) =>
        shop.database.updateTable('products').set({ stock }).where('id', '=', product).execute();
      await setStock(1);
      await eventually(async () => {
        const { status, health } = await healthOf(shop);
        expect([status, health.status]).toEqual([200, 'degraded']);
        const differences = health.details.books?.differences?.join() ?? '';
        expect(differences).toContain(`product ${product}: 1 in stock`);
      }, PATIENT);
      await setStock(0);
      await eventually(async () => (await healthOf(shop)).health.status === 'ok', PATIENT);
    });

    it.each<[string, (broken: LocalShop) => Promise<void>]>([
      ['locks', (broken) => broken.killRedis()],
      ['postgres', (broken) => broken.killPostgres()],
    ])('is 503 and names %s when its server is dead', async (name, kill) => {
      const broken = await openLocalShop({ realSale: true });
      try {
        await kill(broken);
        const { status, health } = await healthOf(broken);
        expect(status).toBe(503);
        expect(Object.keys(health.error)).toEqual([name]);
      } finally {
        await broken.close();
      }
    });
  });

  describe('/metrics', () => {
    it('has the sale, the locks and the process, as text for Prometheus', async () => {
      const product = await visitor.newProduct(2);
      const before = await metricsOf(shop);
      const paid = await visitor.ordered(product, 'alice', 'reserved');
      await visitor.pay(paid);
      await visitor.ordered(product, 'bob', 'reserved');
      let after = '';
      const rise = (metric: string) => valueOf(after, metric) - valueOf(before, metric);
      // An order is seen before its job is, and before its answer is counted.
      await eventually(async () => {
        const answer = await fetch(`${shop.fleet.url}/metrics`);
        expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
        after = await answer.text();
        expect(rise('seckill_order_answer_seconds_count')).toBe(2);
        expect(rise('seckill_queue_jobs{state="delayed"}')).toBe(2);
      });
      expect(valueOf(after, `seckill_stock{product="${product}"}`)).toBe(0);
      expect(rise('seckill_orders{state="reserved"}')).toBe(1);
      expect(rise('seckill_orders{state="paid"}')).toBe(1);
      expect(valueOf(after, 'seckill_book_differences')).toBe(0);
      expect(after).toMatch(
        /^redis_lock_acquisitions_total\{.*lock="product_<0.product_id>".*\} \d/m,
      );
      expect(after).toMatch(/^redis_lock_held\{.*kind="semaphore".*\} 0$/m);
      expect(valueOf(after, 'process_resident_memory_bytes')).toBeGreaterThan(0);
    });

    it('leaves out what cannot be known without Redis', async () => {
      const broken = await openLocalShop({ realSale: true });
      try {
        await broken.killRedis();
        const text = await metricsOf(broken);
        expect(valueOf(text, 'seckill_source_up{source="redis"}')).toBe(0);
        expect(valueOf(text, 'seckill_source_up{source="postgres"}')).toBe(1);
        expect(text).not.toMatch(/^seckill_queue_jobs\{/m);
      } finally {
        await broken.close();
      }
    });
  });

  it('does not wait for a Postgres that does not answer', async () => {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const busy = Array.from({ length: CONNECTIONS }, () =>
      shop.database.connection().execute(() => released),
    );
    try {
      const { status, health } = await healthOf(shop);
      expect(status).toBe(503);
      expect(health.error).toEqual({
        postgres: expect.objectContaining({ message: expect.stringContaining('timeout') }),
      });
      const text = await metricsOf(shop);
      expect(valueOf(text, 'seckill_source_up{source="postgres"}')).toBe(0);
      expect(text).not.toMatch(/^seckill_(orders|stock|book_differences)\b/m);
    } finally {
      release();
      await Promise.all(busy);
    }
  });
});
