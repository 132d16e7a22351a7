import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { handsWords } from '../../apps/seckill-demo/src/page/words/hands-words.js';
import { DemoProcess } from '../demo/demo-process.js';
import { eventually, useRealRedis } from '../support/set-up.js';
import { oneLine, useBrowser } from './arena-visit.js';
import type { ArenaPage } from './arena-visit.js';
import { processesWith } from './leftovers.js';

const words = handsWords.en;
/** A process starts, a frozen one comes back, and the lock of a dead one is free, within this time. */
const PATIENCE_MS = 60_000;

/** The demo without a run: its shop, and the page. */
async function openShop(
  browser: ReturnType<typeof useBrowser>,
  environment: NodeJS.ProcessEnv = {},
): Promise<{ demo: DemoProcess; page: ArenaPage }> {
  const demo = DemoProcess.start(['--no-open', '--strategies', 'none'], environment);
  const page = await browser.open(await demo.says(/Watch it at (\S+)/));
  await eventually(
    async () => expect(await page.command('buy').getAttribute('aria-disabled')).toBe('false'),
    { withinMs: PATIENCE_MS },
  );
  return { demo, page };
}

describe('the shop in the hands of a visitor', () => {
  const browser = useBrowser();
  let page: ArenaPage;
  beforeAll(async () => {
    ({ page } = await openShop(browser));
  });
  afterAll(() => DemoProcess.endAll());

  const stateOf = async (number: number) => oneLine(await page.process(number).innerText());
  const untilProcess = (number: number, state: string | RegExp) =>
    eventually(async () => expect(await stateOf(number)).toMatch(state), { withinMs: PATIENCE_MS });
  const answer = async () => oneLine(await page.page.locator('buyer-panel .answer').innerText());
  const until = (state: string | RegExp) =>
    eventually(async () => expect(await answer()).toMatch(state), { withinMs: PATIENCE_MS });
  const buyAs = async (name: string): Promise<void> => {
    await page.page.getByLabel(words.buyer.name).fill(name);
    await page.command('buy').click();
  };

  it('is all that the page shows without a run', async () => {
    const parts = page.page.locator('arena-page section');
    expect(await parts.evaluateAll((all) => all.map(({ id }) => id))).toEqual(['live', 'hands']);
    expect(await page.page.locator('h1').count()).toBe(1);
  });

  it('sells one piece to each buyer, who has a minute to pay for it', async () => {
    await buyAs('alice');
    await until(words.states['reserved'] ?? '');
    expect(await answer()).toMatch(/[1-6]\d s left to pay/);
    await page.command('pay').click();
    await until(new RegExp(`${words.states['paid']}$`));
    await page.command('buy').click();
    await until(words.buyer.refusals['has-one']);
    await eventually(async () => expect(await page.books()).toContain('in stock 99'));
    const states = page.page.locator('books-panel dl').last();
    await eventually(async () => expect(oneLine(await states.innerText())).toBe('paid 1'));
  });

  it('shows the lock of its product beside the timeline', async () => {
    const key = page.page.locator('hands-view key-panel');
    await eventually(async () =>
      expect(await key.locator('code').first().innerText()).toBe('HGETALL product_1'),
    );
    await eventually(async () =>
      expect(await key.locator('dl').innerText()).toMatch(/token\s+\d+/),
    );
  });

  it(
    'survives the end of a process amid the orders, and its books agree',
    async () => {
      const before = await stateOf(1);
      await page.page.getByRole('button', { name: words.buyer.robots(500) }).click();
      await untilProcess(1, /[1-9]\d* wait|holds the lock/);
      await page.command('kill', words.process(1)).click();
      await untilProcess(1, words.conditions.ended);
      await untilProcess(1, `${words.conditions.up} · `);
      expect(pidIn(await stateOf(1))).not.toBe(pidIn(before));
      expect(await stateOf(1)).toMatch(/Done: Kill$/);
      await buyAs('bob');
      await until(words.states['sold-out'] ?? '');
      await eventually(async () => expect(await page.books()).toContain('stock and orders agree'));
      const reconciled = page.page.locator('books-panel').getByText('has compared the books');
      expect(await reconciled.innerText()).toMatch(/^Process [12] has .*: they agree\.$/);
    },
    2 * PATIENCE_MS,
  );

  it(
    'tells which process is frozen, blocked or cut off, and when it goes on',
    async () => {
      await page.command('freeze', words.process(1)).click();
      await page.command('block', words.process(2)).click();
      await untilProcess(1, words.conditions.frozen);
      await untilProcess(2, words.conditions.blocked);
      await untilProcess(1, `${words.conditions.up} · `);
      await untilProcess(2, `${words.conditions.up} · `);
      // One that is killed while it is frozen does not come back.
      await page.command('freeze', words.process(2)).click();
      await untilProcess(2, words.conditions.frozen);
      await page.command('kill', words.process(2)).click();
      await untilProcess(2, `${words.conditions.up} · `);
      await page.command('cut', words.process(1)).click();
      await untilProcess(1, words.conditions.cut);
      await untilProcess(1, `${words.conditions.up} · `);
      expect(await page.page.locator('process-panel li').count()).toBe(3);
    },
    3 * PATIENCE_MS,
  );

  it(
    'narrates who died while it held the lock, when the lock is free, and who waits',
    async () => {
      await page.page.getByRole('button', { name: words.buyer.restock(100) }).click();
      const texts = await page.textsOf('holder-panel .narration');
      const told = (text: RegExp) =>
        eventually(async () => expect(await texts()).toContainEqual(expect.stringMatching(text)), {
          withinMs: PATIENCE_MS,
        });
      await page.command('kill-holder').click();
      await told(
        /^Process [12] was killed while it held product_1\. The lock is free in \d\.\d s; \d+ orders wait in the queue\.$/,
      );
      expect(await page.fitsOneScreen('holder-panel', 'process-panel', 'books-panel')).toBe(true);
      await told(/held product_1\. (Process|The new process) [12] acquired it after \d\.\d s\.$/);
      await page.command('freeze-holder').click();
      await told(/ was frozen while it held product_1\. The lock is free in \d\.\d s; /);
      await told(/ woke up and wrote too late: the database refused its write\.$/);
      await eventually(async () => expect(await page.books()).toContain('stock and orders agree'));
    },
    4 * PATIENCE_MS,
  );

  it('says beside the button why a command is refused', async () => {
    const holder = page.page.locator('holder-panel .said');
    await page.command('kill-holder').click();
    await eventually(async () => expect(oneLine(await holder.innerText())).not.toBe(''));
    // By the keyboard.
    await page.command('freeze-holder').press('Enter');
    await eventually(async () =>
      expect(oneLine(await holder.innerText())).toBe(words.refused(words.obstacles.running)),
    );
    await eventually(
      async () => expect(oneLine(await holder.innerText())).toBe('Done: Kill the holder'),
      { withinMs: PATIENCE_MS },
    );
    await untilProcess(1, `${words.conditions.up} · `);
    await untilProcess(2, `${words.conditions.up} · `);
    // The browser reports the refusal, too.
    const complaints = page.complaints.splice(0);
    expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
  });

  it(
    'tells when Redis is paused, and lets no visitor pause it twice',
    async () => {
      const redis = page.page.locator('process-panel li').last();
      const says = (state: string) =>
        eventually(async () => expect(await redis.innerText()).toContain(state), {
          withinMs: PATIENCE_MS,
        });
      const pause = page.command('redis-pause', words.redis);
      await pause.click();
      await says(words.redisStates.paused);
      expect(await pause.getAttribute('aria-disabled')).toBe('true');
      expect(await pause.getAttribute('title')).toBe(words.obstacles['redis-paused']);
      await pause.dispatchEvent('click');
      await says(words.refused(words.obstacles['redis-paused']));
      await says(words.redisStates.up);
      expect(page.complaints).toEqual([]);
    },
    2 * PATIENCE_MS,
  );
});

describe('the shop on a Redis of the visitor', () => {
  const redis = useRealRedis({ flush: false });
  const browser = useBrowser();
  const folder = mkdtempSync(join(tmpdir(), 'shop-'));
  // For a Postgres that does not run as root.
  chmodSync(folder, 0o755);
  let demo: DemoProcess;
  let page: ArenaPage;
  beforeAll(async () => {
    ({ demo, page } = await openShop(browser, { REDIS_URL: redis.url, TMPDIR: folder }));
  });
  afterAll(async () => {
    await DemoProcess.endAll();
    rmSync(folder, { recursive: true, force: true });
  });

  it('leaves that Redis alone, and says so', async () => {
    const sent: string[] = [];
    page.page.on('request', (request) => sent.push(request.method()));
    const forbidden = [
      page.command('redis-pause', words.redis),
      page.command('redis-restart', words.redis),
      page.command('redis-fail-over', words.redis),
      page.command('cut', words.process(1)),
    ];
    for (const command of forbidden) {
      expect(await command.getAttribute('aria-disabled')).toBe('true');
      await command.dispatchEvent('click');
    }
    const reasons = page.page.getByText(words.obstacles['foreign-redis'], { exact: true });
    // Each of the two processes, and Redis itself.
    expect([await reasons.count(), await reasons.first().isVisible()]).toEqual([3, true]);
    expect(sent).toEqual([]);
    expect(await page.command('kill', words.process(1)).getAttribute('aria-disabled')).toBe(
      'false',
    );
  });

  it('leaves nothing when it is closed: no process, no folder, no key', async () => {
    const [processes, files] = [processesWith(folder), readdirSync(folder)];
    // The demo and its two processes, the caretaker, and Postgres.
    if (processes !== undefined) expect(processes.length).toBeGreaterThanOrEqual(5);
    expect([files.length > 0, (await redis.admin.dbsize()) > 0]).toEqual([true, true]);
    expect(await demo.signal('SIGINT')).toBe(0);
    await eventually(() => expect(processesWith(folder) ?? []).toEqual([]));
    expect(readdirSync(folder)).toEqual([]);
    expect(await redis.admin.dbsize()).toBe(0);
  });

  it('tells its visitors that it is gone', async () => {
    const status = page.page.locator('arena-page header [role=status]');
    await eventually(async () => expect(oneLine(await status.innerText())).toMatch(/lost|ended/));
    await page.page.getByText(words.obstacles.offline).waitFor();
    expect(await page.command('buy').getAttribute('aria-disabled')).toBe('true');
  });
});

function pidIn(state: string): string | undefined {
  return /pid (\d+)/.exec(state)?.[1];
}
