import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { freePort } from '../../scripts/redis-server.mjs';
import { serverOf } from '../../site/serve.mjs';
import { openBrowser } from './browser.mjs';

const SITE = fileURLToPath(new URL('../../dist/site', import.meta.url));

const LIGHTHOUSE = fileURLToPath(import.meta.resolve('lighthouse/cli/index.js'));

interface Report {
  readonly categories: Readonly<Record<string, { readonly score: number | null }>>;
  readonly audits: Readonly<Record<string, Audit>>;
}
interface Audit {
  readonly score: number | null;
  readonly displayValue?: string;
  readonly numericValue?: number;
}

describe('Lighthouse', () => {
  const server = serverOf(SITE);
  let browser: Browser;
  let port: number;
  let host: string;

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    port = await freePort();
    browser = await openBrowser(`--remote-debugging-port=${port}`);
  });
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  /**
   * A phone on slow 4G, as by default, but the time of the processor counts for nothing: it depends
   * on the other work of this machine. The bytes of the page have their own limit below.
   */
  async function reportOn(address: string): Promise<Report> {
    const options = ['--port', String(port), '--throttling.cpuSlowdownMultiplier=0.01'];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [LIGHTHOUSE, host + address, ...options, '--output=json', '--quiet'],
      { env: { ...process.env, CI: 'true' }, maxBuffer: 64 * 1024 * 1024 },
    );
    return JSON.parse(stdout) as Report;
  }

  it.each(['/', '/zh/lock', '/arena/?lang=en#/lesson/1'])(
    'gives %s at least 95 points of 100, four times',
    async (address) => {
      const { categories, audits } = await reportOn(address);
      const low = Object.entries(categories).filter(([, { score }]) => (score ?? 0) < 0.95);
      const flaws = Object.entries(audits).filter(([, { score }]) => score !== null && score < 0.9);
      const reasons = flaws.map(([id, { displayValue }]) => `${id} ${displayValue ?? ''}`);
      expect([low.map(([id]) => id), low.length > 0 ? reasons : []]).toEqual([[], []]);
      expect(Object.keys(categories)).toEqual([
        ...['performance', 'accessibility', 'best-practices', 'seo'],
      ]);
      // With Mermaid it was 3,200 kB.
      expect(audits['total-byte-weight']?.numericValue).toBeLessThan(250_000);
    },
  );
});
