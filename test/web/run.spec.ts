import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lessonText } from '../../apps/seckill-demo/src/lessons/lesson-texts.js';
import { LESSONS } from '../../apps/seckill-demo/src/lessons/lessons.js';
import { lessonWords } from '../../apps/seckill-demo/src/page/words/lesson-words.js';
import { pageWords } from '../../apps/seckill-demo/src/page/words/page-words.js';
import { DemoProcess } from '../demo/demo-process.js';
import { eventually } from '../support/eventually.js';
import { useBrowser } from './arena-visit.js';
import type { ArenaPage } from './arena-visit.js';
import { expectGoodLooks } from './good-looks.js';
import { differencesOfMatrix, differencesOfParts } from './published.js';
import { useSite } from './site.js';

/** Five times what is promised between the start and the first number, on a built clone. */
const FIRST_NUMBER_MS = 25_000;
/** A busy machine plays slowly. */
const RUN_MS = 300_000;
const LOOKS_MS = 120_000;
/** `--check` plays all of them, and the recorded run shows all of them. */
const STRATEGIES = ['naive', 'lua-release', 'redis-lock'] as const;
const SHOWCASE = 'fault/lua-release/slow-work';

/** The results of all that is played. */
async function outcomeOn(page: ArenaPage) {
  const verdicts = [await page.verdictOf('naive'), await page.verdictOf('redis-lock')];
  return { verdicts, cells: await page.cells(), parts: await page.parts() };
}

describe('a run of the arena', () => {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const file = join(folder, 'run.ndjson');
  const browser = useBrowser();
  const site = useSite();
  let startedAt: number;
  let demo: DemoProcess;
  let page: ArenaPage;
  let outcome: Awaited<ReturnType<typeof outcomeOn>>;

  beforeAll(async () => {
    startedAt = performance.now();
    demo = DemoProcess.start([
      ...['--no-open', '--record', file, '--strategies', STRATEGIES.join(',')],
    ]);
    page = await browser.open(await demo.says(/Watch it at (\S+)/));
  });
  afterAll(async () => {
    await DemoProcess.endAll();
    rmSync(folder, { recursive: true, force: true });
  });

  it('shows soon that more is sold than there is, not by colour alone', async () => {
    const withinMs = FIRST_NUMBER_MS - (performance.now() - startedAt);
    await eventually(
      async () => {
        expect(await page.soldBy('naive')).toBeGreaterThan(100);
        expect(await page.verdictOf('naive')).toMatch(/^✕ \d+ oversold$/);
      },
      { withinMs },
    );
  });

  it('ends the duel with 200 pieces oversold without a lock, and none with it', async () => {
    const verdicts = async () => (await outcomeOn(page)).verdicts;
    await eventually(
      async () =>
        expect(await verdicts()).toEqual(['✕ 200 oversold', '✓ sold out exactly, 200 sent away']),
      { withinMs: FIRST_NUMBER_MS },
    );
    expect([await page.soldBy('naive'), await page.soldBy('redis-lock')]).toEqual([300, 100]);
    await page.speak('zh');
    expect(await verdicts()).toEqual(['✕ 超卖 200 件', '✓ 正好卖完，拒绝 200 人']);
    await page.speak('en');
  });

  it('can be watched by all visitors while it goes on', () => expectGoodLooks(page), LOOKS_MS);

  it(
    'fills every cell of the matrix, and plays every part, as published',
    async () => {
      await demo.says(/Selling 100 pieces/, { withinMs: RUN_MS });
      await eventually(async () => {
        outcome = await outcomeOn(page);
        expect(differencesOfMatrix(outcome.cells, STRATEGIES)).toEqual([]);
        expect(differencesOfParts(outcome.parts)).toEqual([]);
      });
      expect(await page.page.locator('.surprise').count()).toBe(0);
    },
    RUN_MS,
  );

  it('is shown again cell by cell, with the line of code that decides', async () => {
    await page.cell(SHOWCASE).click();
    const replay = page.page.locator('replay-view');
    await replay.getByText('lua-release: work longer than the lease').waitFor();
    expect(await replay.locator('code-panel .why').innerText()).toContain('No watchdog renews');
    const table = await replay.locator('holders-timeline tbody').innerText();
    expect(table).toMatch(/lease expired at/);
    expect(await replay.locator('canvas').getAttribute('aria-label')).toContain('several holders');
  });

  it(
    'can be used by all visitors when the shop is open',
    async () => {
      await eventually(async () =>
        expect(await page.command('buy').getAttribute('aria-disabled')).toBe('false'),
      );
      await expectGoodLooks(page);
    },
    LOOKS_MS,
  );

  it('has the lessons, too, from the recorded run beside it', async () => {
    const follow = (name: string) => page.page.getByRole('link', { name, exact: true }).click();
    await follow(pageWords.en.toLessons);
    for (const { number } of LESSONS) {
      if (number > 1) await follow(`${number}`);
      await page.page.getByRole('heading', { name: lessonText(number, 'en').title }).waitFor();
      await page.page.locator('lesson-view holders-timeline').waitFor();
    }
    await follow(lessonWords.en.toShop);
    await page.page.locator('hands-view').waitFor();
    expect(page.complaints).toEqual([]);
  });

  describe('as a recording', () => {
    let recorded: ArenaPage;
    beforeAll(async () => {
      await demo.signal('SIGINT');
      site.add('run.ndjson', readFileSync(file, 'utf8'));
      recorded = await browser.open(`${site.url}?run=run.ndjson`, { wantsNoMotion: true });
      await recorded.seeTheEnd();
    });

    it('has the same verdicts, on a server of files alone', async () => {
      await eventually(async () => expect(await outcomeOn(recorded)).toEqual(outcome), {
        withinMs: FIRST_NUMBER_MS,
      });
      expect(site.asked.filter((asked) => !asked.startsWith('GET /'))).toEqual([]);
    });
  });
});
