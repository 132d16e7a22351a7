import { afterAll, beforeAll } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import type { CommandKind } from '../../apps/seckill-demo/src/arena/step.js';
import type { Language } from '../../apps/seckill-demo/src/arena/texts.js';
import { handsWords } from '../../apps/seckill-demo/src/page/words/hands-words.js';
import { colon } from '../../apps/seckill-demo/src/page/words.js';
import { pageWords } from '../../apps/seckill-demo/src/page/words/page-words.js';
import { openBrowser } from './browser.mjs';

export interface Visitor {
  readonly language?: Language;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly wantsNoMotion?: boolean;
  /** Run in the page before its own scripts. */
  readonly before?: () => void;
}

/** The page of the arena as a visitor sees it. */
export class ArenaPage {
  /** The messages of the page on the console, and the files that it could not load. */
  readonly complaints: string[] = [];
  #language: Language;

  static async open(browser: Browser, url: string, visitor: Visitor = {}): Promise<ArenaPage> {
    const { language = 'en', theme = 'light', width = 1280, wantsNoMotion = false } = visitor;
    const context = await browser.newContext({
      locale: language === 'zh' ? 'zh-CN' : 'en-US',
      colorScheme: theme,
      viewport: { width, height: 800 },
      reducedMotion: wantsNoMotion ? 'reduce' : 'no-preference',
    });
    if (visitor.before !== undefined) await context.addInitScript(visitor.before);
    const page = new ArenaPage(await context.newPage(), language);
    await page.page.goto(url);
    return page;
  }

  private constructor(
    readonly page: Page,
    language: Language,
  ) {
    this.#language = language;
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('console', (said) => {
      if (['error', 'warning'].includes(said.type())) this.complaints.push(said.text());
    });
    page.on('response', (response) => {
      if (response.status() >= 400) this.complaints.push(`${response.status()} ${response.url()}`);
    });
  }

  get language(): Language {
    return this.#language;
  }

  close(): Promise<void> {
    return this.page.context().close();
  }

  /** By the button of the page, as a visitor does it. */
  async speak(language: Language): Promise<void> {
    if (language === this.#language) return;
    const name = pageWords[this.#language].otherLanguage;
    await this.page.getByRole('button', { name, exact: true }).click();
    this.#language = language;
  }

  /** The theme of the visitor's system. */
  async light(theme: 'light' | 'dark'): Promise<void> {
    await this.page.emulateMedia({ colorScheme: theme });
  }

  async width(width: number): Promise<void> {
    await this.page.setViewportSize({ width, height: 800 });
  }

  /** All texts that an element has from now on: one may come and go between two looks. */
  async textsOf(selector: string): Promise<() => Promise<string[]>> {
    const texts = await this.page.locator(selector).evaluateHandle((element) => {
      const seen: string[] = [];
      const look = () => seen.push((element as HTMLElement).innerText);
      const all = { subtree: true, childList: true, characterData: true };
      new MutationObserver(look).observe(element, all);
      return seen;
    });
    return async () => (await texts.jsonValue()).map(oneLine);
  }

  /** Hidden at first: the tables of the pictures. */
  async openTables(): Promise<void> {
    await this.page.locator('details').evaluateAll((all) => {
      for (const details of all) details.setAttribute('open', '');
    });
  }

  /** Puts a recorded run to its end. */
  async seeTheEnd(): Promise<void> {
    await this.page.locator('recording-bar input:not([max="0"])').press('End');
  }

  lane(strategy: 'naive' | 'redis-lock'): Locator {
    return this.page.locator(`duel-lane[strategy=${strategy}]`);
  }

  async verdictOf(strategy: 'naive' | 'redis-lock'): Promise<string> {
    return oneLine(await this.lane(strategy).locator('.verdict').textContent());
  }

  async soldBy(strategy: 'naive' | 'redis-lock'): Promise<number> {
    return Number(await this.lane(strategy).locator('.count b').textContent());
  }

  cell(id: string): Locator {
    return this.page.locator(`[data-cell="${id}"]`);
  }

  /** The word of each cell of the matrix by its id, such as `✕ oversells`. */
  cells(): Promise<Record<string, string>> {
    return this.page.locator('[data-cell]').evaluateAll((buttons) =>
      Object.fromEntries(
        buttons.map((button) => {
          const words = button.textContent.replace(/\s+/g, ' ').trim();
          return [(button as HTMLElement).dataset['cell'] ?? '', words];
        }),
      ),
    );
  }

  /** The result of each part, without its lock and with it, such as `torn: 12 torn, 12 at once`. */
  parts(): Promise<Record<string, readonly [without: string, withLock: string]>> {
    return this.page.locator('locks-view tbody tr').evaluateAll((rows) =>
      Object.fromEntries(
        rows.map((row) => {
          const texts = [...row.children].map((cell) => cell.textContent.trim());
          const [part = '', , without = '', withLock = ''] = texts;
          return [part, [without, withLock] as const];
        }),
      ),
    );
  }

  /** The button of a command; with a target where there are several, such as `Process 1`. */
  command(kind: CommandKind, target?: string): Locator {
    const word = handsWords[this.#language].commands[kind];
    const name = target === undefined ? word : `${target}${colon[this.#language]}${word}`;
    return this.page.locator('hands-view').getByRole('button', { name, exact: true });
  }

  /** The box of a process, the first one is 1. */
  process(number: number): Locator {
    return this.page.locator('process-panel li').nth(number - 1);
  }

  /** Whether these elements are in sight together. */
  async fitsOneScreen(...names: readonly string[]): Promise<boolean> {
    const found = names.map((name) => this.page.locator(name).boundingBox());
    const boxes = await Promise.all(found);
    const top = Math.min(...boxes.map((box) => box?.y ?? -Infinity));
    const bottom = Math.max(...boxes.map((box) => (box ? box.y + box.height : Infinity)));
    return bottom - top <= (this.page.viewportSize()?.height ?? 0);
  }

  async books(): Promise<string> {
    const told = this.page.locator('books-panel').locator('dl, .verdict');
    return oneLine((await told.allInnerTexts()).join(' '));
  }
}

export function oneLine(text: string | null): string {
  return (text ?? '').replace(/\s+/g, ' ').trim();
}

/** A browser for the specs of a file. It has one page, and closes it when another is opened. */
export function useBrowser(): { open(url: string, visitor?: Visitor): Promise<ArenaPage> } {
  let browser: Browser;
  let page: ArenaPage | undefined;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());
  return {
    async open(url, visitor) {
      await page?.close();
      page = await ArenaPage.open(browser, url, visitor);
      return page;
    },
  };
}
