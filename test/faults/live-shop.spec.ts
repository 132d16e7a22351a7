import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Command, Step } from '../../apps/seckill-demo/src/arena/step.js';
import { DemoProcess } from '../demo/demo-process.js';
import { eventually } from '../support/set-up.js';

/** Five times the lease of a dead process, and the time of a process to start. */
const PATIENT = { withinMs: 60_000 };
const ROBOTS = 150;

type StepOf<Kind extends Step['kind']> = Step & { readonly kind: Kind };

describe('the shop that the arena opens', () => {
  let page: URL;
  const steps: Step[] = [];
  const leaving = new AbortController();
  const of = <Kind extends Step['kind']>(kind: Kind) =>
    steps.filter((step): step is StepOf<Kind> => step.kind === kind);
  const statesOf = (buyer: string) =>
    of('order').flatMap((step) => (step.buyer === buyer ? [step.state] : []));
  const books = () => of('books').at(-1);

  beforeAll(async () => {
    const demo = DemoProcess.start(['--no-open', '--strategies', 'none']);
    page = new URL(await demo.says(/Watch it at (\S+)/));
    void collect(new URL(`/steps${page.search}`, page), steps, leaving.signal);
    await eventually(() => expect(of('sale-opened')).toHaveLength(1), PATIENT);
  });
  afterAll(async () => {
    leaving.abort();
    await DemoProcess.endAll();
  });

  const command = async (asked: Command) => {
    const answer = await fetch(new URL('/commands', page), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-arena-token': page.searchParams.get('token') ?? '',
      },
      body: JSON.stringify(asked),
    });
    return { status: answer.status, body: (await answer.json()) as { status?: number } };
  };
  /** A new sale in which every piece is wanted, with some harm amid the orders. */
  const sellOut = async (harm: Command): Promise<void> => {
    const sales = of('sale-opened').length;
    const first = steps.length;
    await command({ kind: 'restock', stock: 100 });
    await eventually(() => expect(of('sale-opened')).toHaveLength(sales + 1), PATIENT);
    await command({ kind: 'robots', count: ROBOTS });
    await eventually(() => expect(books()?.orders).toBeGreaterThan(0), PATIENT);
    expect((await command(harm)).status).toBe(200);
    const rounds = () => of('reconciled').length;
    await eventually(() => expect(books()).toMatchObject({ stock: 0, orders: 100 }), PATIENT);
    const roundsThen = rounds();
    await eventually(() => expect(rounds()).toBeGreaterThan(roundsThen), PATIENT);
    const since = steps.slice(first);
    const wrong = since.filter(
      (step) =>
        (step.kind === 'books' && step.difference !== 0) ||
        (step.kind === 'reconciled' && step.differences.length > 0),
    );
    expect(wrong).toEqual([]);
  };

  it('takes the order of a visitor by the queue, and his payment', async () => {
    expect((await command({ kind: 'pay', buyer: 'alice' })).body.status).toBe(404);
    expect((await command({ kind: 'buy', buyer: 'alice' })).body.status).toBe(202);
    await eventually(() => expect(statesOf('alice')).toEqual(['queued', 'reserved']), PATIENT);
    expect((await command({ kind: 'buy', buyer: 'alice' })).body.status).toBe(409);
    expect((await command({ kind: 'pay', buyer: 'alice' })).body.status).toBe(201);
    const all = ['queued', 'reserved', 'paying', 'paid'];
    await eventually(() => expect(statesOf('alice')).toEqual(all), PATIENT);
    await eventually(
      () => expect(books()).toMatchObject({ stock: 99, orders: 1, states: { paid: 1 } }),
      PATIENT,
    );
    const answers = of('answered').filter(({ buyer }) => buyer === 'alice');
    expect(answers.map(({ answer }) => answer)).toEqual(['sold', 'duplicate']);
  });

  it('serves robots, four of five pay', async () => {
    await command({ kind: 'robots', count: 10 });
    const paid = () =>
      of('order').filter(({ buyer, state }) => buyer.startsWith('robot') && state === 'paid');
    await eventually(() => expect(paid()).toHaveLength(8), PATIENT);
    await eventually(
      () =>
        expect(books()).toMatchObject({ stock: 89, orders: 11, states: { paid: 9, reserved: 2 } }),
      PATIENT,
    );
    expect(statesOf('robot-5')).toEqual(['queued', 'reserved']);
  });

  it('does one thing to its Redis at a time', async () => {
    const [one, other] = await Promise.all(
      (['redis-restart', 'redis-fail-over'] as const).map((kind) => command({ kind })),
    );
    expect([one?.status, other?.status]).toEqual([200, 409]);
    expect((await command({ kind: 'redis-fail-over' })).status).toBe(200);
  });

  it(
    'sells out when one of its processes is killed amid the orders',
    async () => {
      const holder = of('lock').findLast(({ event }) => event === 'acquired');
      await sellOut({ kind: 'kill', process: holder?.process ?? 0 });
      expect(of('struck').at(-1)).toMatchObject({ what: 'killed', process: holder?.process });
    },
    3 * PATIENT.withinMs,
  );

  it.each(['redis-restart', 'redis-fail-over'] as const)(
    'sells out after %s amid the orders',
    (kind) => sellOut({ kind }),
    3 * PATIENT.withinMs,
  );
});

async function collect(url: URL, steps: Step[], signal: AbortSignal): Promise<void> {
  try {
    const { body } = await fetch(url, { signal });
    let text = '';
    for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        steps.push(...(JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '[]') as Step[]));
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
