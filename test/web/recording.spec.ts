import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { RECORDING } from '../../scripts/arena/recording.mjs';
import { handsWords } from '../../apps/seckill-demo/src/page/words/hands-words.js';
import { pageWords } from '../../apps/seckill-demo/src/page/words/page-words.js';
import { replayWords } from '../../apps/seckill-demo/src/page/words/replay-words.js';
import { eventually } from '../support/eventually.js';
import { oneLine, useBrowser } from './arena-visit.js';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { expectGoodLooks } from './good-looks.js';
import { accessibilityFlaws } from './page-checks.js';
import { differencesOfMatrix, differencesOfParts } from './published.js';
import { useSite } from './site.js';

const SHOWCASE = 'fault/lua-release/slow-work';
const words = replayWords.en;

/** Counts the frames that the page asks for. */
function countFrames(): void {
  const ask = window.requestAnimationFrame.bind(window);
  let framesAsked = 0;
  window.requestAnimationFrame = (callback) => {
    framesAsked += 1;
    Object.assign(window, { framesAsked });
    return ask(callback);
  };
}

describe('a recorded run', () => {
  const site = useSite();
  const browser = useBrowser();
  let page: ArenaPage;
  const open = async (visitor?: Visitor): Promise<void> => {
    page = await browser.open(`${site.url}?run=run.ndjson`, visitor);
    await page.seeTheEnd();
    await eventually(async () => expect(await page.page.locator('.pending').count()).toBe(0));
  };
  beforeAll(() => {
    site.add('run.ndjson', readFileSync(RECORDING, 'utf8'));
  });

  /** Where the focus is, and how wide the line around it. */
  const focus = () =>
    page.page.evaluate(() => {
      let focused = document.activeElement;
      while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
      if (!(focused instanceof HTMLElement)) throw new Error('nothing has the focus');
      const { outlineStyle, outlineWidth } = getComputedStyle(focused);
      const { cell = focused.textContent.replace(/\s+/g, ' ').trim() } = focused.dataset;
      return { on: cell, line: outlineStyle === 'none' ? '0px' : outlineWidth };
    });
  /** How many elements the tab key leads to, in all shadow trees. */
  const stops = () =>
    page.page.evaluate(() => {
      const countIn = (root: ParentNode): number =>
        [...root.querySelectorAll<HTMLElement>('*')].reduce((sum, element) => {
          const own = element.tabIndex >= 0 && element.checkVisibility() ? 1 : 0;
          return sum + own + (element.shadowRoot ? countIn(element.shadowRoot) : 0);
        }, 0);
      return countIn(document.body);
    });

  it('is walked through with the tab key, from its first control to its last, and back', async () => {
    await open({ wantsNoMotion: true });
    const walk = async (key: string): Promise<string[]> => {
      const seen: string[] = [];
      for (;;) {
        await page.page.keyboard.press(key);
        const { on, line } = await focus();
        if (await page.page.evaluate(() => document.activeElement === document.body)) return seen;
        expect([on, line]).toEqual([on, '3px']);
        seen.push(on);
      }
    };
    await walk('Shift+Tab');
    const there = await walk('Tab');
    expect(there.length).toBe(await stops());
    expect(await walk('Shift+Tab')).toEqual(there.toReversed());
  });

  describe('at its end', () => {
    beforeAll(() => open());

    it('has every cell of the matrix, and every part, as published', async () => {
      expect(differencesOfMatrix(await page.cells())).toEqual([]);
      expect(differencesOfParts(await page.parts())).toEqual([]);
    });

    it('has a table behind every picture', async () => {
      const without = await page.page.evaluate(() => {
        const isTold = (picture: Node): boolean => {
          for (let root = picture.getRootNode(); root instanceof ShadowRoot;) {
            if (root.querySelector('table') !== null) return true;
            root = root.host.getRootNode();
          }
          return false;
        };
        const picturesIn = (root: ParentNode): Element[] =>
          [...root.querySelectorAll('*')].flatMap((element) => [
            ...(element.matches('canvas, [role=img]') ? [element] : []),
            ...(element.shadowRoot ? picturesIn(element.shadowRoot) : []),
          ]);
        const pictures = picturesIn(document.body);
        if (pictures.length < 5) throw new Error(`only ${pictures.length} pictures`);
        return pictures.filter((picture) => !isTold(picture)).map(({ outerHTML }) => outerHTML);
      });
      expect(without).toEqual([]);
    });

    it('compares what orders cost', async () => {
      const cells = page.page.locator('comparison-view tr:has(code:text-is("fair")) td');
      expect(await cells.allInnerTexts()).toEqual(
        [1, 2].flatMap(() => [
          '✓ exact',
          ...[1, 2, 3].map(() => expect.stringMatching(/^\d/)),
          '0 %',
        ]),
      );
    });

    it('says why nothing can be broken in it, and asks its server for nothing', async () => {
      await page.page.getByText(handsWords.en.obstacles.recorded).waitFor();
      expect(await page.page.getByText(handsWords.en.intro).count()).toBe(0);
      const before = site.asked.length;
      const buttons = await page.page.locator('hands-view').getByRole('button').all();
      for (const button of buttons) {
        expect(await button.getAttribute('aria-disabled')).toBe('true');
        await button.dispatchEvent('click');
      }
      expect([buttons.length > 0, site.asked.slice(before)]).toEqual([true, []]);
    });
  });

  it('has each bar of controls in one line on a phone', async () => {
    for (const language of ['en', 'zh'] as const) {
      await open({ width: 360, language });
      await page.cell(SHOWCASE).click();
      for (const bar of ['recording-bar .bar', 'replay-view .controls']) {
        const tops = await page.page
          .locator(`${bar} > *`)
          .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
        const middles = tops.map(({ top, height }) => Math.round(top + height / 2));
        expect(Math.max(...middles) - Math.min(...middles)).toBeLessThanOrEqual(2);
      }
    }
  });

  it('ends the lane of a killed process; its lock is free when the lease is over', async () => {
    await open();
    await page.cell('fault/redis-lock/killed-in-section').click();
    const rows = page.page.locator('replay-view holders-timeline tbody tr');
    await eventually(async () => expect(await rows.count()).toBe(2));
    const [killed = [], next = []] = await rows.evaluateAll((all) =>
      all.map((row) => [...row.children].map((cell) => cell.textContent.trim())),
    );
    expect(killed[0]).not.toBe(next[0]);
    expect([killed[4], next[4]]).toEqual(['no answer', 'sold']);
    expect(millisecondsIn(killed[3])).toBeLessThan(millisecondsIn(next[2]));
    // The lease has 1.8 s, of which a renewal may be a third of it old.
    expect(millisecondsIn(next[2])).toBeGreaterThan(1_000);
    expect(millisecondsIn(next[2])).toBeLessThan(5 * 1_800);
  });

  it('is used with the keyboard alone, and the focus is always seen', async () => {
    await open();
    await page.page.locator('body').focus();
    await eventually(async () => {
      await page.page.keyboard.press('Tab');
      expect((await focus()).on).toBe('rush/naive/1');
    });
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight']) {
      await page.page.keyboard.press(key);
    }
    const cell = { on: 'fault/setnx/killed-before-expire', line: '3px' };
    expect(await focus()).toEqual(cell);
    await page.page.keyboard.press('Enter');
    await page.page
      .getByRole('heading', { name: 'setnx: killed between SETNX and EXPIRE' })
      .waitFor();
    expect(await focus()).toEqual({
      on: expect.stringMatching(`${words.pause}|${words.play}`),
      line: '3px',
    });
    await eventually(async () => {
      await page.page.keyboard.press('Shift+Tab');
      expect((await focus()).on).toBe(words.back);
    });
    await page.page.keyboard.press('Enter');
    expect(await focus()).toEqual(cell);
  });

  it('has the focus in a cell that a link of a lesson leads to', async () => {
    page = await browser.open(`${site.url}?run=run.ndjson#/lesson/4`);
    await page.page.locator('lesson-view .aside').click();
    const button = expect.stringMatching(`${words.pause}|${words.play}`);
    await eventually(async () => expect((await focus()).on).toEqual(button));
  });

  it('can be watched by all visitors', async () => {
    await open();
    await page.cell(SHOWCASE).click();
    await expectGoodLooks(page);
    expect(page.complaints).toEqual([]);
  });

  it('says in words which cell is not as published, and it blinks, unless nothing is to move', async () => {
    const run = readFileSync(RECORDING, 'utf8');
    const other = (line: string) =>
      line.includes('"cell-ended","cell":"rush/naive/2"')
        ? line.replace('"outcome":"oversells"', '"outcome":"exact"')
        : line;
    site.add('other.ndjson', run.split('\n').map(other).join('\n'));
    for (const wantsNoMotion of [false, true]) {
      page = await browser.open(`${site.url}?run=other.ndjson`, { wantsNoMotion });
      await page.seeTheEnd();
      const cell = page.page.locator('.surprise');
      await cell.waitFor();
      expect(oneLine(await cell.textContent())).toBe('≠ exact, not as published: oversells');
      await page.page.getByText('1 not as published').waitFor();
      const blinks = await cell.evaluate((button) => getComputedStyle(button).animationName);
      expect(blinks).toBe(wantsNoMotion ? 'none' : 'blink');
    }
    expect(await accessibilityFlaws(page.page)).toEqual([]);
  });

  it('remembers the language and the theme that were chosen', async () => {
    await open();
    await page.speak('zh');
    await page.page.getByRole('button', { name: pageWords.zh.dark, exact: true }).click();
    await page.page.reload();
    await page.seeTheEnd();
    expect(await page.page.locator('h1').innerText()).toMatch(/谁能买到/);
    const html = page.page.locator('html');
    expect(await html.getAttribute('lang')).toBe('zh-CN');
    expect(await html.getAttribute('data-theme')).toBe('dark');
  });

  it('does not move for those who want no motion', async () => {
    await open({ wantsNoMotion: true, before: countFrames });
    const shown = async () => [
      await page.soldBy('naive'),
      await page.soldBy('redis-lock'),
      await page.page.locator('duel-view canvas').count(),
    ];
    expect(await shown()).toEqual([300, 100, 0]);
    await page.cell(SHOWCASE).click();
    await page.page.getByRole('heading', { name: 'lua-release: work longer than' }).waitFor();
    await page.page.locator('replay-view').getByRole('button', { name: words.play }).waitFor();
    expect(await framesAsked()).toBe(0);
  });

  it('moves for all other visitors', async () => {
    await open({ before: countFrames });
    await eventually(async () => expect(await framesAsked()).toBeGreaterThan(10));
    expect(await page.page.locator('duel-view canvas').count()).toBe(2);
  });

  const framesAsked = () =>
    page.page.evaluate(() => (window as { framesAsked?: number }).framesAsked ?? 0);
});

/** `17 ms` and `1.8 s`. */
function millisecondsIn(text = ''): number {
  return Number.parseFloat(text) * (text.endsWith(' ms') ? 1 : 1_000);
}
