import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { brokenLinksIn } from '../../site/broken-links.mjs';
import { withLinks } from '../../site/markdown.mjs';
import { findPages } from '../../site/pages.mjs';
import { serverOf } from '../../site/serve.mjs';
import { eventually } from '../support/eventually.js';
import { openBrowser } from './browser.mjs';
import { accessibilityFlaws } from './page-checks.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SITE = join(ROOT, 'dist/site');
const PHONE = { width: 390, height: 800 };

const diagramsIn = (text: string) => text.match(/^```mermaid$/gm)?.length ?? 0;
const withDiagrams = findPages().filter(({ text }) => diagramsIn(text) > 0);

describe('the site of the docs', () => {
  const server = serverOf(SITE);
  const complaints: string[] = [];
  const foreign: string[] = [];
  let browser: Browser;
  let host: string;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function open(address: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext(options);
    context.on('request', (request) => {
      if (!request.url().startsWith(host)) foreign.push(request.url());
    });
    const page = await context.newPage();
    page.on('pageerror', (error) => complaints.push(`${address}: ${error.message}`));
    page.on('console', (said) => {
      if (['error', 'warning'].includes(said.type())) complaints.push(`${address}: ${said.text()}`);
    });
    await page.goto(host + address);
    if (options.javaScriptEnabled === false) return page;
    // The scripts of the page add these. Before that, no click does anything.
    for (const part of ['main, [role=main]', '.VPNavBarAppearance [title]:not([title=""])'])
      await page.locator(part).waitFor({ state: 'attached' });
    return page;
  }

  const wideOn = (page: Page) =>
    page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

  it('names each link that leads nowhere', () => {
    const folder = mkdtempSync(join(tmpdir(), 'links-'));
    writeFileSync(join(folder, 'lock.html'), '<h2 id="in-redis">…</h2>');
    writeFileSync(
      join(folder, 'index.html'),
      `<a href="/lock#in-redis"></a> <a href="lock#in-java"></a> <a href="#top"></a>
      <a href="/latch"></a> <img src="lock.svg"> <a href="/%"></a> <a href="https://redis.io/docs"></a>`,
    );
    expect(brokenLinksIn(folder)).toEqual(
      ['lock#in-java', '#top', '/latch', 'lock.svg', '/%'].map((link) => `index.html: ${link}`),
    );
  });

  it('leaves code as it is, and turns links into those of the site', () => {
    const code = ['`[a](b)`', '- one\n\n  ```ts\n  const a = b[c](d);\n  ```\n'];
    expect(code.map((text) => withLinks(text, 'docs/lock.md', findPages()))).toEqual(code);
    const link = '[`acquire`](lock-by-hand.md#x)';
    expect(withLinks(link, 'docs/lock.md', findPages())).toBe('[`acquire`](/lock-by-hand#x)');
  });

  it.each(['/gone', '/%', '//', '/..%2Fpackage.json'])('answers 404 to %s', async (address) => {
    expect((await fetch(host + address)).status).toBe(404);
  });

  it('has each page in no more than the width of a phone', async () => {
    const files = readdirSync(SITE, { recursive: true, encoding: 'utf8' });
    const pages = files.filter((file) => file.endsWith('.html') && !/^(arena|404)\b/.test(file));
    expect(pages.length).toBeGreaterThan(100);
    // The text is there without scripts, and so it is quick.
    const page = await open('/', { viewport: PHONE, javaScriptEnabled: false });
    const wide: string[] = [];
    for (const file of pages) {
      await page.goto(`${host}/${file}`);
      if ((await wideOn(page)) > 0) wide.push(file);
    }
    expect(wide).toEqual([]);
  });

  it('draws the diagrams of each page, in both themes', async () => {
    const page = await open('/', { viewport: PHONE });
    for (const { address, text } of withDiagrams) {
      await page.goto(host + address);
      for (const theme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: theme });
        const shown = page.locator(`.diagram img.in-${theme}:visible:not([alt=""])`);
        const counted = async () => ({ address, count: await shown.count() });
        await eventually(async () =>
          expect(await counted()).toEqual({ address, count: diagramsIn(text) }),
        );
        for (const picture of await shown.all()) {
          await picture.scrollIntoViewIfNeeded();
          const width = () => picture.evaluate((image: HTMLImageElement) => image.naturalWidth);
          await eventually(async () => expect(await width()).toBeGreaterThan(300));
        }
      }
      expect([address, await wideOn(page)]).toEqual([address, 0]);
    }
    await page.context().close();
  });

  it.each([
    [
      ...['/', 'Search'],
      {
        'fair lock': '/fair-lock#fair-lock',
        看门狗: '/how-a-lock-works#',
        'read-write': '/read-write-lock#read-write-lock',
        LockTimeoutError: '/api/core/classes/LockTimeoutError#locktimeouterror',
        'reentrant lock': '/lock#reentrant-lock',
      },
    ],
    [
      ...['/zh/', '搜索'],
      {
        公平锁: '/zh/fair-lock#公平锁',
        看门狗: '/zh/how-a-lock-works#',
        读写锁: '/zh/read-write-lock#读写锁',
        LockHealthIndicator: '/zh/observability#健康检查',
        SqlFence: '/zh/api/#围栏令牌',
      },
    ],
  ] as const)('finds from %s by %s', async (address, button, pages) => {
    const page = await open(address);
    for (const [words, first] of Object.entries(pages)) {
      await page.getByRole('button', { name: button }).first().click();
      await page.locator('.search-input').fill(words);
      const results = page.locator('.results a');
      await eventually(async () => {
        expect(await results.first().getAttribute('href')).toMatch(new RegExp(`^${first}`));
      });
      await results.first().click();
      await eventually(async () => {
        const text = (await page.locator('main').innerText()).toLowerCase();
        expect(text).toContain(words.split(' ').at(-1)?.toLowerCase());
      });
    }
    await page.context().close();
  });

  it.each([
    [
      '/',
      'timeout',
      ['/errors#lock_timeout', '/api/core/classes/LockTimeoutError', '/set-up#options'],
    ],
    ['/', 'waitTimeMs', ['/set-up#options', '/lock-a-method#options']],
    ['/zh/', '超时', ['/zh/errors#lock_timeout', '/zh/set-up#选项']],
    ['/zh/', 'timeout', ['/zh/errors#lock_timeout', '/zh/set-up#选项']],
    ['/zh/', 'waitTimeMs', ['/zh/set-up#选项', '/zh/lock-a-method#选项']],
    ['/zh/', 'LockTimeoutError', ['/zh/errors#lock_timeout']],
    ['/zh/', '续命', ['/zh/how-a-lock-works#3-看门狗续期']],
  ])('finds early from %s by %s', async (address, words, wanted) => {
    const page = await open(address);
    await page.locator('.VPNavBarSearch button').click();
    await page.locator('.search-input').fill(words);
    const results = page.locator('.results a');
    await eventually(async () => {
      const found = await results.evaluateAll((links) =>
        links.slice(0, 8).map((link) => link.getAttribute('href')?.replace(/(\/api\/.*)#.*/, '$1')),
      );
      expect(found).toEqual(expect.arrayContaining(wanted));
    });
    await page.context().close();
  });

  it.each([
    ['/set-up', '简体中文', '/zh/set-up'],
    ['/performance', '简体中文', '/zh/'],
    ['/zh/set-up', 'English', '/set-up'],
  ])('leads from %s in the other language, %s, to %s', async (address, language, other) => {
    const page = await open(address);
    await page.locator('.VPNavBarTranslations button').hover();
    await page.locator('.VPNavBarTranslations').getByText(language, { exact: true }).last().click();
    await page.waitForURL(host + other);
    await page.context().close();
  });

  it('lists every page for language models, as Markdown', async () => {
    const list = readFileSync(join(SITE, 'llms.txt'), 'utf8');
    expect(list).not.toMatch(/:\s*$/m);
    const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    const english = findPages().filter(
      ({ language, name }) => language === 'en' && name !== 'index',
    );
    const listed = english.filter(({ isInternal }) => !isInternal);
    expect(links).toEqual(expect.arrayContaining(listed.map(({ address }) => `${address}.md`)));
    expect(links.filter((link) => link.startsWith('/internals/'))).toEqual([]);
    for (const link of links) {
      const answer = await fetch(host + link);
      expect([link, answer.status, await answer.text()]).toEqual([
        link,
        200,
        expect.stringMatching(/^# .+/m),
      ]);
    }
    const all = readFileSync(join(SITE, 'llms-full.txt'), 'utf8');
    expect(all).toContain('# Fair lock\n');
  });

  it.each([
    ['/flash-sale', '/'],
    ['/zh/flash-sale', '/zh/'],
  ])('plays the recorded run from %s, and leads back to %s', async (address, home) => {
    const page = await open(address);
    await page.locator('main a[href*="/arena/"]').first().click();
    const sold = page.locator('duel-lane[strategy=naive] .count b');
    await eventually(async () => Number(await sold.textContent()) > 0, { withinMs: 20_000 });
    const before = Number(await sold.textContent());
    await eventually(async () => Number(await sold.textContent()) > before, { withinMs: 20_000 });
    await page.getByRole('link', { name: 'nestjs-redis-lock' }).click();
    await page.waitForURL(host + home);
    await page.context().close();
  });

  it.each(['/', '/zh/set-up', '/lock', '/api/core/interfaces/Lock'])(
    'can be used by all readers in both themes: %s',
    async (address) => {
      const page = await open(address);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor();
        const flaws = await accessibilityFlaws(page);
        // The search button of the default theme shows its key beside its name.
        const own = flaws.filter((flaw) => !/^label-content-name-mismatch.*DocSearch$/.test(flaw));
        expect([colorScheme, own]).toEqual([colorScheme, []]);
      }
      await page.context().close();
    },
  );

  it('shows the signature of most calls first, and the errors of a call by name', async () => {
    const page = await open('/api/index/functions/WithLock');
    const signatures = await page.locator('main .language-ts code').allInnerTexts();
    expect(signatures.filter((code) => code.startsWith('function'))).toEqual([
      expect.stringContaining('LockedMethodDecorator'),
      expect.stringContaining('MethodDecorator'),
    ]);
    expect(await page.locator('main li a[href$="LockConfigurationError"]').count()).toBe(2);
    await page.context().close();
  });

  it('asks no other host for anything, and has no errors', () => {
    expect([foreign, complaints]).toEqual([[], []]);
  });
});
