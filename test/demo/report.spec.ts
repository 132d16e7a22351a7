import { describe, expect, it } from '@jest/globals';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import type { FaultResult } from '../../apps/seckill-demo/src/arena/fault.js';
import { parseKnobs } from '../../apps/seckill-demo/src/arena/knobs.js';
import type { Knobs } from '../../apps/seckill-demo/src/arena/knobs.js';
import { checkText, reportJson } from '../../apps/seckill-demo/src/arena/report.js';
import { faultTable, loadTable } from '../../apps/seckill-demo/src/arena/tables.js';
import { texts } from '../../apps/seckill-demo/src/arena/texts.js';
import { loadResult } from './sample-results.js';

const naive = loadResult({
  strategy: 'naive',
  processes: 2,
  sold: 300,
  oversold: 200,
  ledgerDifference: 299,
  refused: 0,
  outcome: 'oversells',
});
const frozen: FaultResult = { strategy: 'redis-lock', fault: 'frozen', outcome: 'refused' };

function knobs(...args: string[]): Knobs {
  const parsed = parseKnobs(args, {});
  if (parsed.kind === 'error') throw new Error(parsed.message);
  return parsed.knobs;
}

const trimmed = (table: string) =>
  table
    .split('\n')
    .map((line) => line.split('│').map((cell) => cell.trim()))
    .filter((cells) => cells.length > 1)
    .map((cells) => cells.slice(1, -1));

describe('loadTable', () => {
  it('has one row for each result, by stage and by number of processes', () => {
    const results = [loadResult({ processes: 2 }), naive, loadResult({})];
    expect(trimmed(loadTable(results, texts.en)).slice(2)).toEqual([
      [
        'naive',
        '2',
        '300',
        '200',
        '0',
        '299',
        '0',
        '612',
        '201.0',
        '350.1',
        'Sold 300 of 100: 200 will get nothing.',
      ],
      [
        'redis-lock',
        '1',
        '100',
        '0',
        '0',
        '0',
        '200',
        '612',
        '201.0',
        '350.1',
        'Sold exactly what there was.',
      ],
      [
        'redis-lock',
        '2',
        '100',
        '0',
        '0',
        '0',
        '200',
        '612',
        '201.0',
        '350.1',
        'Sold exactly what there was.',
      ],
    ]);
  });

  it('breaks the verdict into lines on a narrow terminal, and loses no word of it', () => {
    const table = loadTable([naive], texts.en, 110);
    for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
    const verdict = trimmed(table)
      .slice(2)
      .map((cells) => cells.at(-1));
    expect(verdict.join(' ')).toBe('Sold 300 of 100: 200 will get nothing.');
  });

  it('speaks Chinese, with columns that still stand below each other', () => {
    const table = loadTable([naive], texts.zh);
    expect(table).toContain('超卖');
    expect(table).toContain('只有 100 件却卖了 300 件：200 人拿不到货。');
    const wide = /[\u3000-\u9fff\uff00-\uffef]/g;
    const widths = table.split('\n').map((line) => line.replace(wide, '##').length);
    expect(new Set(widths).size).toBe(1);
  });
});

describe('faultTable', () => {
  it('has a column for each fault that was run, and a word in each cell', () => {
    const stuck: FaultResult = { strategy: 'setnx', fault: 'frozen', outcome: 'stuck' };
    expect(trimmed(faultTable([frozen, stuck], ['frozen'], texts.en))).toEqual([
      ['strategy', 'frozen beyond'],
      ['', 'the lease'],
      ['setnx', 'STUCK'],
      ['redis-lock', 'refused'],
    ]);
  });
});

describe('checkText', () => {
  it('says that all is as expected', () => {
    const report = { loads: [naive], faults: [frozen], tookMs: 31_234 };
    expect(checkText(report, knobs())).toBe('check passed: 2 cells as expected, 31.2 s');
    expect(checkText(report, knobs('--lang', 'zh'))).toBe('检查通过：2 格全部符合预期，31.2 秒');
  });

  it('names each cell that is not, a missing failure among them', () => {
    const loads = [{ ...naive, outcome: 'exact' as const }];
    const faults: FaultResult[] = [{ ...frozen, outcome: 'stale-write' }];
    expect(checkText({ loads, faults, tookMs: 1_000 }, knobs()).split('\n')).toEqual([
      'check FAILED: 2 cells not as expected, 1.0 s',
      '  naive with 2 processes: expected "oversells", saw "exact"',
      '  redis-lock, frozen: expected "refused", saw "stale-write"',
    ]);
  });
});

describe('reportJson', () => {
  it('holds every figure and every mismatch', () => {
    const loads = [{ ...naive, outcome: 'exact' as const }];
    const report: unknown = JSON.parse(reportJson({ loads, faults: [frozen], tookMs: 5 }, knobs()));
    expect(report).toMatchObject({
      stock: 100,
      buyers: 300,
      instances: 2,
      loads,
      faults: [frozen],
      mismatches: [{ kind: 'load', expected: 'oversells' }],
    });
  });
});

describe('texts', () => {
  it('has a verdict for every outcome, in a sentence, in both languages', () => {
    for (const outcome of ['exact', 'oversells', 'undersells', 'miscounts', 'breaks'] as const) {
      const result = loadResult({ outcome, oversold: 1, undersold: 1, failed: 1 });
      expect(texts.en.verdict(result)).toMatch(/^[A-Z0-9].*\.$/);
      expect(texts.zh.verdict(result)).toMatch(/。$/);
    }
  });

  it('names every knob, strategy and fault in the help', () => {
    for (const { help } of [texts.en, texts.zh]) {
      for (const word of ['--stock', '--buyers', '--instances', '--strategies', '--faults']) {
        expect(help).toContain(word);
      }
      for (const word of ['--check', '--tutorial', '--json', '--lang', 'REDIS_URL', 'PORT']) {
        expect(help).toContain(word);
      }
      for (const fault of FAULT_NAMES) expect(help).toContain(fault);
    }
  });
});
