import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import {
  FIRST,
  fromQuery,
  STRATEGY_NAMES,
  toQuery,
} from '../../apps/seckill-demo/src/playground/experiment.js';
import type { Experiment } from '../../apps/seckill-demo/src/playground/experiment.js';
import { run } from '../../apps/seckill-demo/src/playground/run.js';
import type { Run } from '../../apps/seckill-demo/src/playground/run.js';
import { search } from '../../apps/seckill-demo/src/playground/search.js';
import { RECORDING } from '../../scripts/arena/recording.mjs';
import { experimentWords } from '../../apps/seckill-demo/src/page/words/experiment-words.js';
import { pageWords } from '../../apps/seckill-demo/src/page/words/page-words.js';
import { playgroundWords } from '../../apps/seckill-demo/src/page/words/playground-words.js';
import { replayWords } from '../../apps/seckill-demo/src/page/words/replay-words.js';
import { eventually } from '../support/eventually.js';
import { oneLine, useBrowser } from './arena-visit.js';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { expectGoodLooks } from './good-looks.js';
import { useSite } from './site.js';

const playerWords = replayWords.en;
const words = { ...experimentWords.en, ...playgroundWords.en };

describe('the playground', () => {
  const site = useSite();
  const browser = useBrowser();
  /** A run that breaks. */
  let failure: Run;
  let address: string;
  beforeAll(async () => {
    site.add('run.ndjson', readFileSync(RECORDING, 'utf8'));
    const { broken } = await search(FIRST, { tries: 100, kinds: ['freeze'] });
    if (broken?.oversold === undefined) throw new Error('no seed breaks it');
    failure = broken;
    address = toQuery(broken.experiment);
  });
  let page: ArenaPage;
  const open = async (hash: string, visitor: Visitor = { wantsNoMotion: true }) => {
    page = await browser.open(`${site.url}?run=run.ndjson${hash}`, visitor);
    return page.page;
  };
  const openAt = async (query: string, visitor?: Visitor) => {
    const shown = await open(`#/playground?${query}`, visitor);
    await shown.locator('run-verdict .verdict').waitFor();
    return shown;
  };
  const button = (name: string) => page.page.getByRole('button', { name });
  const verdict = async () =>
    oneLine(await page.page.locator('run-verdict [role=status]').innerText());
  const experiment = (): Experiment => fromQuery(page.page.url().split('#/playground?')[1] ?? '');

  it('loads nothing before a visitor opens it', async () => {
    const shown = await open('');
    const link = (name: string) => shown.getByRole('link', { name, exact: true });
    await link(pageWords.en.playground).waitFor();
    const ofPlayground = () =>
      site.asked.filter((one) => /playground|experiment|interleaving/.test(one));
    const before = ofPlayground();
    await link(pageWords.en.playground).click();
    await shown.locator('run-verdict .verdict', { hasText: 'oversold' }).waitFor();
    expect(before).toEqual(['GET /app/page/playground/playground-place.js']);
    expect(ofPlayground()).toEqual(
      expect.arrayContaining([
        'GET /app/page/words/playground-words.js',
        'GET /app/playground/bundle.js',
      ]),
    );
    await link(pageWords.en.parts.duel).click();
    await shown.locator('duel-view').waitFor();
    expect(await shown.locator('playground-page').count()).toBe(0);
  });

  it('runs each experiment as Node does', async () => {
    const shown = await openAt('');
    const queries = STRATEGY_NAMES.map((strategy) => address.replace('lua-release', strategy));
    const hashes = await shown.evaluate(async (all) => {
      const load = (module: string) => import(module) as Promise<Record<string, never>>;
      const { run: runIt } = (await load('playground')) as unknown as { run: typeof run };
      const { fromQuery: read } = (await load('/app/playground/experiment.js')) as unknown as {
        fromQuery: typeof fromQuery;
      };
      const found: string[] = [];
      for (const query of all) found.push((await runIt(read(query))).hash);
      return found;
    }, queries);
    const inNode: string[] = [];
    for (const query of queries) inNode.push((await run(fromQuery(query))).hash);
    expect(hashes).toEqual(inNode);
  });

  it('shows a colleague the same failure by its address', async () => {
    const shown = await openAt(address);
    const { oversold, orders, pieces } = failure;
    const { piece = 0, callers = ['', ''], late = '' } = oversold ?? {};
    const why = `${words.oversold(piece, ...callers)} ${words.late(late)}`;
    expect(await verdict()).toBe(`✕ oversold ${why} ${words.books(orders, pieces)}`);
    const guilty = shown.locator('interleaving-table tr.broken');
    expect((await guilty.innerText()).split('\t').slice(2)).toEqual([late, 'writes the stock']);
    expect(await shown.locator('source-panel .broken').innerText()).toContain('await write(');
    await shown.reload();
    await shown.locator('run-verdict .verdict').waitFor();
    expect(experiment()).toEqual(failure.experiment);
    expect(await verdict()).toMatch(/^✕ oversold/);
  });

  it('copies its address, or says where it is', async () => {
    const shown = await openAt(address);
    await button(words.copy).click();
    await button(words.notCopied).waitFor();
    await shown.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button(words.notCopied).click();
    await button(words.copied).waitFor();
    expect(await shown.evaluate(() => navigator.clipboard.readText())).toBe(shown.url());
    expect(page.complaints).toEqual([]);
  });

  it('finds a run that breaks, and its address has the seed and the fault', async () => {
    const shown = await openAt('');
    expect(await verdict()).toMatch(/^✓ safe in this run/);
    await button(words.search).click();
    await shown.locator('run-search [role=status]', { hasText: /^found after/ }).waitFor();
    await eventually(async () => expect(await verdict()).toMatch(/^✕/));
    expect(experiment().faults).toHaveLength(1);
    const again = await run(experiment());
    expect(again.verdict).not.toBe('safe');
  });

  it('kills and freezes a process at the playhead; the address has it', async () => {
    await openAt('strategy=setnx');
    expect(await button(words.plug(1)).getAttribute('aria-disabled')).toBe('true');
    const shown = page.page;
    for (let i = 0; i < 6; i += 1) await button(playerWords.stepOn).click();
    await button(words.freeze(2)).click();
    await shown.locator('interleaving-table', { hasText: 'the process freezes' }).waitFor();
    await button(words.plug(1)).click();
    await shown.locator('interleaving-table', { hasText: 'the process is killed' }).waitFor();
    const { faults } = experiment();
    expect(faults.map(({ kind, process }) => [kind, process]).sort()).toEqual([
      ['freeze', 2],
      ['kill', 1],
    ]);
    const isOff = (name: string) => button(name).getAttribute('aria-disabled');
    const hands = [words.plug(1), words.freeze(1), words.plug(2), words.freeze(2)];
    await eventually(async () =>
      expect(await Promise.all(hands.map(isOff))).toEqual(['true', 'true', 'false', 'false']),
    );
    await button(words.remove(words.fault(faults[0] as never))).click();
    await eventually(async () => expect(experiment().faults).toHaveLength(1));
  });

  it('takes only values that its address can have', async () => {
    const shown = await openAt('strategy=lock&seed=999999');
    const form = shown.locator('#fault');
    const add = (values: Record<string, string>) => async () => {
      for (const [name, value] of Object.entries(values)) {
        await form.locator(`input[name=${name}]`).fill(value);
      }
      await button(words.add).click();
    };
    await form.locator('[name=kind]').selectOption('freeze');
    for (const wrong of [{ at: '59999.999' }, { at: '60000' }, { at: '50', forMs: '450.5' }]) {
      await add(wrong)();
      expect(await form.locator('input:invalid').count()).toBe(1);
    }
    await add({ forMs: '450' })();
    await eventually(async () =>
      expect(experiment().faults).toEqual([{ kind: 'freeze', process: 1, at: 50, ms: 450 }]),
    );
    await button(words.nextSeed).click();
    await eventually(async () => expect(experiment().seed).toBe(1));
    await shown.locator('input[name=seed]').fill('1000000');
    await shown.locator('input[name=seed]').blur();
    await eventually(async () => expect(experiment().seed).toBe(999_999));
  });

  it('takes no fault more than its address can have', async () => {
    const faults = Array.from({ length: 20 }, (_, i) => `freeze-2-${i + 1}-1`).join(',');
    const shown = await openAt(`strategy=lock&faults=${faults}`);
    expect(await button(words.add).isDisabled()).toBe(true);
    await button(playerWords.stepOn).click();
    expect(await button(words.plug(1)).getAttribute('aria-disabled')).toBe('true');
    expect(await shown.getByText(words.full(20)).count()).toBe(2);
  });

  it('says which faults do not happen in the run', async () => {
    const faults = ['kill-1-10', 'freeze-1-20-5', 'kill-3-30', 'kill-2-50000'];
    const shown = await openAt(`strategy=lock&faults=${faults.join(',')}`);
    const told = await shown.locator('experiment-form li').allInnerTexts();
    expect(told.map((text) => text.includes(words.absent))).toEqual([false, true, true, true]);
  });

  it('plays, pauses, and plays slowly, for a visitor who wants motion', async () => {
    const shown = await openAt(address, {});
    const view = shown.locator('run-view');
    const press = (name: string) => view.getByRole('button', { name }).click();
    const later = () => view.locator('interleaving-table tr.later').count();
    await eventually(async () => expect(await later()).toBeGreaterThan(0));
    await press('Pause');
    const rest = await later();
    // Not every step has a row.
    await eventually(async () => {
      await press(playerWords.stepOn);
      expect(await later()).toBeLessThan(rest);
    });
    await view.getByLabel('Speed').selectOption('0.25');
    await press('Play');
    await eventually(async () => expect(await later()).toBe(0));
  });

  it('keeps the score of all strategies, with a run to replay for each that breaks', async () => {
    const shown = await openAt('');
    await button(words.makeIt).click();
    const last = shown.locator('score-board tr:has(code:text-is("fenced"))');
    await last.getByText(words.safe(60)).waitFor({ timeout: 200_000 });
    const results = await shown
      .locator('score-board tbody tr')
      .evaluateAll((rows) =>
        Object.fromEntries(
          rows.map((row) => [
            row.querySelector('code')?.textContent ?? '',
            row.querySelector('a') === null ? row.children[1]?.textContent.trim() : 'replay',
          ]),
        ),
      );
    const safe = ['lock', 'fair', 'write-lock', 'fenced'];
    expect(results).toEqual(
      Object.fromEntries(
        STRATEGY_NAMES.map((name) => [
          name,
          safe.includes(name) ? expect.stringMatching(/^✓ safe in \d+ seeds$/) : 'replay',
        ]),
      ),
    );
    await shown.getByRole('link', { name: words.replay('setnx'), exact: true }).click();
    await eventually(async () => expect(await verdict()).toMatch(/^✕ stuck/));
    expect(await shown.locator('source-panel .broken').innerText()).toContain('.setnx(');
    await shown.getByLabel(words.numbers.workMs).fill('70');
    await shown.getByLabel(words.numbers.workMs).blur();
    await eventually(async () => expect(await last.innerText()).toContain('–'));
  });

  it('can be used by all visitors', async () => {
    await openAt(address);
    await expectGoodLooks(page);
    expect(page.complaints).toEqual([]);
  });
});
