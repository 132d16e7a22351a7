import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { dirname } from 'node:path';
import { RefusedError } from '../../apps/seckill-demo/src/arena/refused-error.js';
import type { Command, Step } from '../../apps/seckill-demo/src/arena/step.js';
import { Steps } from '../../apps/seckill-demo/src/arena/steps.js';
import { compiled } from '../../scripts/compile.mjs';
import { openPage } from '../../apps/seckill-demo/src/web/open-page.js';
import type { Page } from '../../apps/seckill-demo/src/web/open-page.js';

describe('the page server', () => {
  let steps: Steps;
  let page: Page;
  let commands: Command[];
  beforeEach(async () => {
    steps = new Steps();
    commands = [];
    page = await openPage({
      port: 0,
      modules: dirname(compiled(new URL('../../apps/seckill-demo/src/demo.ts', import.meta.url))),
      steps,
      carryOut: (command) => {
        if (command.kind === 'skip') return Promise.reject(new RefusedError('not-open', 'not now'));
        commands.push(command);
        return Promise.resolve({ done: command.kind });
      },
    });
  });
  afterEach(async () => {
    steps.close();
    await page.close();
  });

  const at = (path: string): URL => new URL(path, page.url);
  const token = (): string => new URL(page.url).searchParams.get('token') ?? '';
  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(at('/commands'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-arena-token': token(), ...headers },
      body: JSON.stringify(body),
    });
  const began = (cell: string) => ({ kind: 'cell-began', cell }) as const;

  it('listens on the loopback interface, and shows the page and what it loads', async () => {
    expect(new URL(page.url).hostname).toBe('127.0.0.1');
    const html = await (await fetch(page.url)).text();
    expect(html).toContain('<arena-page>');
    const { imports } = JSON.parse(/importmap">(.*?)<\/script>/.exec(html)?.[1] ?? '') as {
      imports: Record<string, string>;
    };
    for (const file of Object.values(imports)) {
      if (!file.endsWith('/')) expect([file, (await fetch(at(file))).status]).toEqual([file, 200]);
    }
    const main = await fetch(at('/app/page/main.js'));
    expect(main.headers.get('content-type')).toMatch('text/javascript');
    expect((await fetch(at('/app/demo.js'))).status).toBe(404);
    expect((await fetch(at('/app/page/../demo.js'))).status).toBe(404);
  });

  it('sends all steps in batches, and goes on after the last one that arrived', async () => {
    for (const cell of ['a', 'b', 'c']) steps.add(began(cell));
    steps.close();
    const all = await messages(await fetch(at(`/steps?token=${token()}`)));
    expect(all).toEqual([{ id: '3', cells: ['a', 'b', 'c'] }]);
    const headers = { 'last-event-id': '2' };
    const rest = await messages(await fetch(at(`/steps?token=${token()}`), { headers }));
    expect(rest).toEqual([{ id: '3', cells: ['c'] }]);
  });

  it('sends steps as they come, and forgets a visitor who has gone', async () => {
    steps.add(began('a'));
    const leaving = new AbortController();
    const response = await fetch(at(`/steps?token=${token()}`), { signal: leaving.signal });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = async (word: string): Promise<void> => {
      for (let text = ''; !text.includes(word); text += (await reader?.read())?.value ?? '');
    };
    await read('"a"');
    steps.add(began('b'));
    await read('"b"');
    leaving.abort();
    steps.add(began('c'));
  });

  it('keeps nothing for a visitor who does not read', async () => {
    // More than fits into the sockets.
    for (let more = 0; more < 200; more += 1) steps.add(began('x'.repeat(100_000)));
    const slow = await fetch(at(`/steps?token=${token()}`));
    const read = fetch(at(`/steps?token=${token()}`), { headers: { 'last-event-id': '200' } });
    const cells: string[] = [];
    const reader = (await read).body?.pipeThrough(new TextDecoderStream()).getReader();
    for (const cell of ['b', 'c', 'd']) {
      steps.add(began(cell));
      for (let text = ''; !text.includes(`"${cell}"`);) text += (await reader?.read())?.value ?? '';
      cells.push(cell);
    }
    steps.close();
    const [, ...later] = await messages(slow);
    expect(later).toEqual([{ id: '203', cells }]);
  });

  it('carries commands out, and says why it does not', async () => {
    const robots = await post({ kind: 'robots', count: 500 });
    expect([robots.status, await robots.json()]).toEqual([200, { done: 'robots' }]);
    expect(commands).toEqual([{ kind: 'robots', count: 500 }]);
    const skip = await post({ kind: 'skip' });
    expect([skip.status, await skip.json()]).toMatchObject([
      409,
      { message: 'not now', reason: 'not-open' },
    ]);
  });

  it.each([
    {},
    { kind: 'format-disk' },
    { kind: 'kill' },
    { kind: 'kill', process: '1; rm' },
    { kind: 'kill-holder', process: 1 },
    { kind: 'kill', process: 1, too: 'much' },
    { kind: 'robots', count: 1_000_000 },
    { kind: 'buy', buyer: 'a b' },
  ])('refuses %j', async (command) => {
    expect((await post(command)).status).toBe(400);
    expect(commands).toEqual([]);
  });

  it('lets no visitor in without the token', async () => {
    expect((await post({ kind: 'robots', count: 1 }, { 'x-arena-token': 'x' })).status).toBe(401);
    expect((await post({ kind: 'robots', count: 1 }, { 'x-arena-token': '' })).status).toBe(401);
    expect((await fetch(at('/steps'))).status).toBe(401);
    expect(commands).toEqual([]);
  });

  it('answers under its own name only, and to no page of another origin', async () => {
    expect(await statusFor(at(`/steps?token=${token()}`), 'evil.example')).toBe(403);
    expect(await statusFor(at('/'), 'evil.example:80')).toBe(403);
    const answer = await post({ kind: 'robots', count: 1 }, { origin: 'http://evil.example' });
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  });
});

async function messages(response: Response): Promise<Array<{ id: string; cells: string[] }>> {
  const events = (await response.text()).split('\n\n').filter((event) => event.includes('data:'));
  return events.map((event) => ({
    id: /^id: (.*)$/m.exec(event)?.[1] ?? '',
    cells: (JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '[]') as Step[]).map((step) =>
      step.kind === 'cell-began' ? step.cell : step.kind,
    ),
  }));
}

/** `fetch` sets the header Host by itself. */
function statusFor(url: URL, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { host } }, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    asked.on('error', reject).end();
  });
}
