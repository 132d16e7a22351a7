import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { stageWords } from '../../apps/seckill-demo/src/page/words/stage-words.js';
import { RECORDING } from '../../scripts/arena/recording.mjs';
import { eventually } from '../support/eventually.js';
import { useBrowser } from './arena-visit.js';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { useSite } from './site.js';

const words = stageWords.en;
const BUYERS = 20;

describe('the stage of the payment gateway', () => {
  const site = useSite();
  const browser = useBrowser();
  let page: ArenaPage;
  beforeAll(() => {
    site.add('run.ndjson', readFileSync(RECORDING, 'utf8'));
  });

  /** The run is at its end, and the verdict is there. */
  async function visit(visitor?: Visitor): Promise<void> {
    page = await browser.open(`${site.url}?run=run.ndjson`, visitor);
    await page.seeTheEnd();
    await card().getByText('20 paid').waitFor();
  }
  const card = () => page.page.locator('stage-card').filter({ hasText: words.parts.payment.title });
  /** Those who have left the gateway, in the half with the lock. */
  const served = () => card().locator('stage-half').nth(1).locator('svg .sign').count();
  const playsToItsEnd = async (): Promise<void> => {
    await eventually(async () => expect(await served()).toBeLessThan(BUYERS));
    await eventually(async () => expect(await served()).toBe(BUYERS), { withinMs: 20_000 });
  };

  it('moves slowly when it has been played, and again when a visitor asks for it', async () => {
    await visit();
    await playsToItsEnd();
    await card().getByRole('button', { name: words.again }).click();
    await playsToItsEnd();
  });

  it('stands still for those who want no motion, until they ask for it', async () => {
    await visit({ wantsNoMotion: true });
    expect(await served()).toBe(BUYERS);
    await card().getByRole('button', { name: words.again }).click();
    await playsToItsEnd();
  });
});
