import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { dirname } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Command, Step } from '../../apps/seckill-demo/src/arena/step.js';
import { LESSONS } from '../../apps/seckill-demo/src/lessons/lessons.js';
import { Steps } from '../../apps/seckill-demo/src/arena/steps.js';
import { openPage } from '../../apps/seckill-demo/src/web/open-page.js';
import type { Page as Server } from '../../apps/seckill-demo/src/web/open-page.js';
import { syntheticRun } from '../demo/page/synthetic-run.js';
import { compiled } from '../../scripts/compile.mjs';
import { openBrowser } from './browser.mjs';
import { accessibilityFlaws, tofuOn } from './page-checks.js';

const MODULES = dirname(compiled(new URL('../../apps/seckill-demo/src/demo.ts', import.meta.url)));
/** The duel is stretched to four seconds. */
const DUEL_MS = 15_000;

describe('the page of the arena', () => {
  let browser: Browser;
  let server: Server;
  let commands: Command[];
  const errors: string[] = [];
  beforeAll(async () => {
    browser = await openBrowser();
    const steps = new Steps();
    for (const { at, ...happening } of syntheticRun()) {
      steps.add(happening as Step, performance.timeOrigin + performance.now() + at);
    }
    server = await openPage({
      port: 0,
      modules: MODULES,
      steps,
      carryOut: (command) => {
        commands.push(command);
        return Promise.resolve({ status: 409, body: '{}' });
      },
    });
  });
  afterAll(async () => {
    await server.close();
    await browser.close();
  });
  beforeEach(() => {
    commands = [];
  });
  afterEach(() => {
    expect(errors.splice(0)).toEqual([]);
  });

  async function visit(options: BrowserContextOptions = {}, language = 'en'): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      ...options,
    });
    const page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(`${server.url}&lang=${language}`);
    await page.getByRole('button', { name: /^(Pay|付款)$/ }).waitFor({ timeout: 10_000 });
    return page;
  }

  it('shows within seconds how naive code oversells, and the lock does not', async () => {
    const page = await visit();
    const lanes = page.locator('duel-lane');
    await lanes.first().getByText('200 oversold').waitFor({ timeout: DUEL_MS });
    await lanes.last().getByText('200 sent away').waitFor({ timeout: DUEL_MS });
    await lanes.last().getByText('sold out exactly').waitFor();
    await page.context().close();
  });

  it('replays the cell on which Enter is pressed, with the line that is to blame', async () => {
    const page = await visit();
    await page.getByRole('button', { name: 'oversells' }).first().focus();
    for (let column = 0; column < 4; column += 1) await page.keyboard.press('ArrowRight');
    for (let row = 0; row < 6; row += 1) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    const replay = page.locator('replay-view');
    await replay.getByText('lua-release: work longer than the lease').waitFor();
    await replay.getByRole('button', { name: 'Play', exact: false }).waitFor({ timeout: DUEL_MS });
    expect(await replay.locator('canvas').getAttribute('aria-label')).toContain('several holders');
    await replay.getByRole('button', { name: 'Back to the matrix' }).click();
    expect(await page.locator('matrix-view button:focus').getAttribute('data-cell')).toBe(
      'fault/lua-release/slow-work',
    );
    await page.context().close();
  });

  it('compares what an order costs with each strategy', async () => {
    const page = await visit();
    const tables = page.locator('comparison-view table');
    expect(await tables.locator('caption').allInnerTexts()).toEqual([
      'rush, one process',
      'rush, 2 processes',
    ]);
    const row = async (strategy: string) => {
      const cells = tables.last().locator(`tr:has(code:text-is("${strategy}")) td`);
      return (await cells.allInnerTexts()).map((text) => text.trim());
    };
    expect(await row('fair')).toEqual(['✓ exact', '201', '350', '7.3', '50 %']);
    expect(await row('naive')).toEqual(['✕ oversells', '201', '350', '7.3', '–']);
    await page.context().close();
  });

  it('has the lessons, too, from the recorded run beside it', async () => {
    const page = await visit({ reducedMotion: 'reduce' });
    await page.getByRole('link', { name: 'Learn it in eight lessons' }).click();
    await page.getByRole('button', { name: 'Make it fail' }).click();
    await page.locator('lesson-code .why').waitFor();
    for (const { number } of LESSONS.slice(1)) {
      await page.getByRole('link', { name: `${number}`, exact: true }).click();
      await page.getByRole('button', { name: 'Make it fail' }).waitFor();
    }
    await page.getByRole('link', { name: 'Break the shop yourself' }).click();
    await page.locator('hands-view').waitFor();
    await page.context().close();
  });

  it('gives the commands of a visitor', async () => {
    const page = await visit();
    await page.getByRole('button', { name: 'Process 1: Kill' }).click();
    await page.getByLabel('Your name').fill('alice');
    await page.getByRole('button', { name: 'Buy one' }).click();
    await page.getByText('You have one already.').waitFor();
    expect(commands).toEqual([
      { kind: 'kill', process: 4711 },
      { kind: 'buy', buyer: 'alice' },
    ]);
    const forbidden = page.getByRole('button', { name: 'Redis: Fail over to a replica' });
    expect(await forbidden.getAttribute('aria-disabled')).toBe('true');
    await page.context().close();
  });

  it('remembers the language and the theme', async () => {
    const page = await visit();
    await page.getByRole('button', { name: '中文' }).click();
    await page.getByRole('button', { name: '深色' }).click();
    await page.goto(server.url);
    await page.getByRole('heading', { name: '300 人抢 100 件，谁能买到？' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.context().close();
  });

  describe.each([
    ['en', 'light', 1280, 'no-preference'],
    ['zh', 'dark', 1280, 'reduce'],
    ['zh', 'light', 360, 'no-preference'],
    ['en', 'dark', 360, 'reduce'],
  ] as const)('in %s, %s, %i px wide, motion: %s', (language, colorScheme, width, motion) => {
    let page: Page;
    beforeAll(async () => {
      const viewport = { width, height: 800 };
      page = await visit({ viewport, colorScheme, reducedMotion: motion }, language);
      const summaries = page.locator('summary');
      for (let index = 0; index < (await summaries.count()); index += 1) {
        await summaries.nth(index).click();
      }
    });
    afterAll(async () => {
      await page.context().close();
    });

    it('has no flaw that axe finds', async () => {
      expect(await accessibilityFlaws(page)).toEqual([]);
    });

    it('has no character without a shape', async () => {
      expect(await tofuOn(page)).toEqual([]);
    });

    it('is not wider than the window', async () => {
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    });
  });
});
