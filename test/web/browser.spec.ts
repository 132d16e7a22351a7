import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { openBrowser, openChrome } from './browser.mjs';
import { accessibilityFlaws, tofuOn } from './page-checks.js';

const PAGE = `<!doctype html>
<html lang="zh">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>秒杀</title>
  <main>
    <h1>秒杀：库存 100 件</h1>
    <p><b>超卖</b>、<i>少卖</i>，<code>SET NX PX</code></p>
    <p id="flaw"></p>
  </main>
</html>`;

describe('openBrowser', () => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(PAGE);
  });
  let browser: Browser;
  let page: Page;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  async function open(): Promise<Page> {
    page = await browser.newPage({ viewport: { width: 360, height: 640 } });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return page;
  }
  const write = (html: string) =>
    page.evaluate((text) => {
      const flaw = document.querySelector('#flaw');
      if (flaw) flaw.innerHTML = text;
    }, html);

  it('shows a page on a narrow screen, without a bar to scroll sideways', async () => {
    await open();
    const widths = await page.evaluate(() => [window.innerWidth, document.body.scrollWidth]);
    expect(widths[0]).toBe(360);
    expect(widths[1]).toBeLessThanOrEqual(360);
  });

  it('draws Chinese, and knows what it cannot draw', async () => {
    await open();
    expect(await tofuOn(page)).toEqual([]);
    const width = await page.evaluate(() => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector('b') ?? document.body);
      return range.getBoundingClientRect().width;
    });
    expect(width).toBeGreaterThan(20);
    await write('\u{12000}锁');
    expect(await tofuOn(page)).toEqual(['\u{12000}']);
  });

  it('knows characters that no font has inside a web component, too', async () => {
    await open();
    await page.evaluate(() => {
      const host = document.querySelector('#flaw');
      if (host) host.attachShadow({ mode: 'open' }).innerHTML = '<p>\u{12000}</p>';
    });
    expect(await tofuOn(page)).toEqual(['\u{12000}']);
  });

  it('names what a system without a browser needs', async () => {
    const opening = openChrome([], 'no-chrome');
    await expect(opening).rejects.toMatchObject({
      message: expect.stringMatching(/^No browser: .* an installed Chrome\. .*no-chrome/),
      exitCode: 69,
    });
  });

  it('finds what keeps people out', async () => {
    await open();
    expect(await accessibilityFlaws(page)).toEqual([]);
    await write('<button></button>');
    expect(await accessibilityFlaws(page)).toEqual([
      expect.stringMatching(/^button-name: .*button/),
    ]);
  });
});
