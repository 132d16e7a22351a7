import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { RECORDING } from '../../scripts/arena/recording.mjs';
import { LESSONS } from '../../apps/seckill-demo/src/lessons/lessons.js';
import { lessonText } from '../../apps/seckill-demo/src/lessons/lesson-texts.js';
import { lessonWords } from '../../apps/seckill-demo/src/page/words/lesson-words.js';
import { pageWords } from '../../apps/seckill-demo/src/page/words/page-words.js';
import { eventually } from '../support/eventually.js';
import { oneLine, useBrowser } from './arena-visit.js';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { expectGoodLooks } from './good-looks.js';
import { useSite } from './site.js';

const words = lessonWords.en;
const SHOWCASE = 'fault/lua-release/slow-work';

describe('the addresses of the page', () => {
  const site = useSite();
  const browser = useBrowser();
  let page: ArenaPage;

  const open = async (fragment: string, visitor: Visitor = { wantsNoMotion: true }) => {
    page = await browser.open(`${site.url}?run=run.ndjson${fragment}`, visitor);
    await page.page.locator('page-header').waitFor();
  };
  const fragment = () => page.page.evaluate(() => location.hash);
  const heading = async () => oneLine(await page.page.locator('h1').textContent());
  const lesson = () => page.page.locator('lesson-view');
  const button = (name: string) => lesson().getByRole('button', { name });
  const plays = (number: number) => button(number === LESSONS.length ? words.hold : words.fail);
  const events = () => lesson().locator('ol li').allInnerTexts();
  /** The distance of an element from the top of the window. */
  const topOf = (selector: string) =>
    page.page.locator(selector).evaluate((element) => element.getBoundingClientRect().top);

  it('lead through eight lessons, and each shows which line decides its recorded cell', async () => {
    await open('#/lesson/1');
    for (const { number, code } of LESSONS) {
      await eventually(async () =>
        expect(await heading()).toBe(`${number} ${lessonText(number, 'en').title}`),
      );
      await lesson().locator('holders-timeline').waitFor();
      expect(await lesson().locator('.why').count()).toBe(0);
      await plays(number).click();
      const line = await lesson().locator('.blamed, .praised').first().innerText();
      expect(code.some((text) => line.includes(text.trim()))).toBe(true);
      expect(await lesson().locator('.why').count()).toBe(1);
      const fits = await page.page.evaluate(() => document.documentElement.scrollHeight);
      expect(fits).toBeLessThanOrEqual(800);
      if (number < LESSONS.length) await lesson().getByRole('link', { name: words.next }).click();
    }
    await lesson().getByRole('link', { name: words.toMatrix }).click();
    await page.cell(SHOWCASE).waitFor();
    await page.page.goBack();
    await eventually(async () => expect(await heading()).toMatch(/^8 Fencing/));
    expect(page.complaints).toEqual([]);
  });

  it('step through a lesson, and mark the guilty line when its event happens', async () => {
    await open('#/lesson/3');
    for (const told of [
      'The first buyer acquires the lock.',
      'The first buyer has read the stock, and prepares the write.',
    ]) {
      await button(words.step).click();
      await eventually(async () => expect((await events()).at(-1)).toBe(told));
    }
    expect(await lesson().locator('.why').count()).toBe(0);
    await button(words.step).click();
    await lesson().locator('.why').waitFor();
    expect((await events()).at(-1)).toBe('Process 1 is killed.');
    expect(await lesson().locator('.blamed').first().innerText()).toContain('redis.setnx(');
    await button(words.step).click();
    await lesson().getByText('✕ stuck').waitFor();
    expect(await button(words.step).isDisabled()).toBe(true);
    await lesson().locator('.question summary').click();
    await lesson().getByText(lessonText(3, 'en').answer).waitFor();
  });

  it('play a lesson slowly, while the recorded run waits', async () => {
    await open('#/lesson/3', {});
    await button(words.fail).click();
    await eventually(async () => expect((await events()).length).toBe(1));
    await button(words.pause).click();
    const now = await events();
    await page.page.getByRole('link', { name: pageWords.en.parts.duel }).click();
    const place = page.page.locator('recording-bar .figure');
    await eventually(async () => expect(await place.innerText()).toMatch(/^0\.\d/));
    expect(now.length).toBeLessThan(4);
  });

  it('name the lesson, the cell or the playground in the title, in the language of the page', async () => {
    const titles = {
      '#/lesson/3': ['3 SETNX', 'Flash sale arena', '秒杀擂台'],
      [`#/cell/${SHOWCASE}`]: ['lua-release', 'Flash sale arena', '秒杀擂台'],
      '#/playground': ['', 'Playground · Flash sale arena', '实验台 · 秒杀擂台'],
      '#/matrix': ['', 'Flash sale arena', '秒杀擂台'],
    };
    await open('');
    for (const [address, [place = '', en = '', zh = '']] of Object.entries(titles)) {
      await page.page.evaluate((hash) => (location.hash = hash), address);
      for (const [language, end] of [
        ['en', en],
        ['zh', zh],
      ] as const) {
        await page.speak(language);
        await eventually(async () => {
          const title = await page.page.title();
          expect([title.startsWith(place), title.endsWith(end)]).toEqual([true, true]);
        });
      }
      await page.speak('en');
    }
  });

  it('hold the recorded run while the playground is open', async () => {
    await open('', {});
    const isPlaying = () =>
      page.page.evaluate(async () => {
        const module = '/app/page/sources/recording.js';
        const { recording } = (await import(module)) as { recording: { isPlaying: boolean } };
        return recording.isPlaying;
      });
    await eventually(async () => expect(await isPlaying()).toBe(true));
    await page.page.getByRole('link', { name: pageWords.en.playground }).click();
    await page.page.locator('run-verdict .verdict').waitFor();
    expect(await isPlaying()).toBe(false);
    await page.page.goBack();
    await eventually(async () => expect(await isPlaying()).toBe(true));
  });

  it('say so if the playground cannot be loaded, and try again', async () => {
    await open('');
    const bundle = '**/bundle.js';
    await page.page.route(bundle, (route) => route.abort());
    await page.page.getByRole('link', { name: pageWords.en.playground }).click();
    await page.page.getByText(pageWords.en.failed).waitFor();
    await page.page.unroute(bundle);
    await page.page.getByRole('button', { name: pageWords.en.again }).click();
    await page.page.locator('run-verdict .verdict').waitFor();
  });

  it('find the recording again after it could not be read', async () => {
    site.add('run.ndjson', 'no recording');
    await open('#/lesson/1');
    await lesson().getByText(words.missing).waitFor();
    site.add('run.ndjson', readFileSync(RECORDING, 'utf8'));
    await page.page.getByRole('link', { name: '2', exact: true }).click();
    await lesson().locator('holders-timeline').waitFor();
  });

  it('lead to a cell on a fresh page, to the cell before, and back', async () => {
    await open(`#/cell/${SHOWCASE}`);
    const replay = page.page.locator('replay-view header');
    await replay.getByText('lua-release: work longer than the lease').waitFor();
    await eventually(async () => expect(await topOf('replay-view')).toBeLessThan(200));
    await page.cell('rush/setnx/2').click();
    await replay.getByText('setnx: the rush').waitFor();
    expect(await fragment()).toBe('#/cell/rush/setnx/2');
    await eventually(async () => expect(await topOf('replay-view')).toBeLessThan(200));
    await page.page.evaluate(() => {
      scrollTo(0, 0);
    });
    await eventually(async () => expect(await topOf('replay-view')).toBeGreaterThan(200));
    await page.cell('rush/setnx/2').click();
    await eventually(async () => expect(await topOf('replay-view')).toBeLessThan(200));
    await page.page.goBack();
    await replay.getByText('lua-release: work longer than the lease').waitFor();
    expect(await page.cell(SHOWCASE).getAttribute('aria-pressed')).toBe('true');
  });

  it('say so if the run has no such cell', async () => {
    await open('#/cell/fault/lua-release/flood');
    await page.page.getByText('fault/lua-release/flood is not in this run.').waitFor();
  });

  it('name each part, and bring it below the header that stays', async () => {
    const isAtEdge = () =>
      page.page.evaluate(
        () => scrollY === 0 || scrollY + innerHeight >= document.body.scrollHeight - 1,
      );
    await open('');
    for (const width of [1280, 360]) {
      await page.width(width);
      for (const [part, name] of Object.entries(pageWords.en.parts)) {
        const header = page.page.locator('page-header');
        await header.getByRole('link', { name, exact: true }).click();
        await eventually(async () => {
          const top = await topOf(`section#${part}`);
          expect(top).toBeGreaterThanOrEqual(await header.evaluate((all) => all.clientHeight));
          expect(top < 160 || (await isAtEdge())).toBe(true);
        });
        expect(await fragment()).toBe(`#/${part}`);
        expect(await topOf('page-header')).toBe(0);
      }
    }
  });

  it('have the progress in the header, a way to the matrix, and cells with full names', async () => {
    await open('');
    await page.page.locator('page-header').getByText('now naive: the duel').waitFor();
    await page.seeTheEnd();
    const header = page.page.locator('page-header .status');
    await eventually(async () => expect(await header.innerText()).toContain('the run is over'));
    expect(oneLine(await header.innerText())).toMatch(/(\d+) of \1 cells/);
    await page.page.getByRole('link', { name: pageWords.en.toMatrix(true) }).click();
    await eventually(async () => expect(await fragment()).toBe('#/matrix'));
    const name = 'lua-release, work longer than the lease: oversold';
    await page.page.getByRole('button', { name, exact: true }).waitFor();
    const nothing = page.cell('fault/naive/frozen');
    expect(await nothing.getAttribute('aria-disabled')).toBe('true');
    const numbers = page.page.locator('matrix-view tbody th a');
    expect(await numbers.allInnerTexts()).toEqual(['1', '2', '3', '4', '4', '5', '6', '7', '8']);
    await numbers.nth(6).click();
    await eventually(async () => expect(await heading()).toMatch(/^6 Lua/));
  });

  it('lead to lessons that all visitors can use', async () => {
    await open('#/lesson/1');
    for (const { number } of LESSONS) {
      await eventually(async () => expect(await heading()).toMatch(new RegExp(`^${number} `)));
      await lesson().locator('holders-timeline').waitFor();
      await plays(number).click();
      await lesson().locator('.why').waitFor();
      await expectGoodLooks(page);
      if (number < LESSONS.length) await lesson().getByRole('link', { name: words.next }).click();
    }
  }, 240_000);
});
