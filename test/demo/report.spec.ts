import { describe, expect, it } from '@jest/globals';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import type { FaultResult } from '../../apps/seckill-demo/src/arena/fault.js';
import type { Options } from '../../apps/seckill-demo/src/options/parse.mjs';
import { cellOf, faultCell, partCell, rushCell } from '../../apps/seckill-demo/src/arena/cell.js';
import type { CellResult } from '../../apps/seckill-demo/src/arena/cell.js';
import { expectedOf } from '../../apps/seckill-demo/src/arena/expected-matrix.js';
import {
  checkText,
  reportFrom,
  reportJson,
  reportText,
} from '../../apps/seckill-demo/src/arena/report.js';
import type { Report } from '../../apps/seckill-demo/src/arena/report.js';
import type { CellEnded } from '../../apps/seckill-demo/src/arena/step.js';
import { PART_NAMES } from '../../apps/seckill-demo/src/arena/parts/part.js';
import {
  faultTable,
  loadTable,
  partTable,
  strategyLegend,
} from '../../apps/seckill-demo/src/arena/tables.js';
import { texts } from '../../apps/seckill-demo/src/arena/languages.js';
import { columnsOf, optionTexts } from '../../apps/seckill-demo/src/options/help.mjs';
import { parseOptions } from '../../apps/seckill-demo/src/options/parse.mjs';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';
import { loadResult, PARTS } from './sample-results.js';

/** The report of a run that ended with these results. */
function reportOf(
  results: Partial<Pick<Report, 'loads' | 'faults' | 'parts'>>,
  tookMs = 1,
): Report {
  const { loads = [], faults = [], parts = [] } = results;
  const all: CellResult[] = [
    ...loads.map((load) => ({ kind: 'rush' as const, ...load })),
    ...faults.map((fault) => ({ kind: 'fault' as const, ...fault })),
    ...parts.map((part) => ({ kind: 'part' as const, ...part })),
  ];
  const ended = all.map((result): CellEnded => {
    const cell = cellOf(result);
    const { outcome } = result;
    return { kind: 'cell-ended', cell: cell.id, outcome, expected: expectedOf(cell), result };
  });
  return reportFrom(ended, tookMs);
}

const OUTCOMES = ['exact', 'oversells', 'undersells', 'miscounts', 'breaks'] as const;

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

function options(...args: string[]): Options {
  const parsed = parseOptions(args, {});
  if (parsed.kind !== 'options') throw new Error(`no options: ${parsed.kind}`);
  return parsed.options;
}

describe('loadTable', () => {
  it('has a group of rows for each number of processes, by stage', () => {
    const results = [loadResult({ processes: 2 }), naive, loadResult({})];
    const right = ['100', '0', '0', '0', '200', '612', '201', '350', 'Sold', 'out', 'exactly.'];
    const rows = loadTable(results, texts.en).split('\n').slice(3);
    expect(rows.map((row) => row.split(/ +/))).toEqual([
      ['With', '1', 'process:'],
      ['redis-lock', ...right],
      ['With', '2', 'processes:'],
      'naive 300 200 0 299 0 612 201 350 Sold 200 too many.'.split(' '),
      ['redis-lock', ...right],
    ]);
  });

  it('shows tenths of a millisecond where they matter', () => {
    const table = loadTable([loadResult({ p50Ms: 9, p99Ms: 99.9 })], texts.en);
    expect(table).toContain(' 9.0 99.9 ');
  });

  it('draws its rule as wide as its widest row, and no blanks at the end of a line', () => {
    const [, , rule = '', ...rows] = loadTable([naive], texts.en).split('\n');
    expect(rule).toMatch(/^─+$/);
    expect(rule).toHaveLength(Math.max(...rows.map((row) => row.length)));
    for (const row of rows) expect(row).toBe(row.trimEnd());
  });
});

describe('faultTable', () => {
  it('has a column for each fault that was run, and a word in each cell', () => {
    const stuck: FaultResult = { strategy: 'setnx', fault: 'frozen', outcome: 'stuck' };
    const lines = faultTable([frozen, stuck], ['frozen'], texts.en).split('\n');
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['frozen'],
      ['beyond'],
      ['strategy', 'the lease'],
      [expect.stringMatching(/^─+$/)],
      ['setnx', 'STUCK'],
      ['redis-lock', 'refused'],
    ]);
  });
});

describe('strategyLegend', () => {
  it('says of each strategy that was measured what it does, once, by stage', () => {
    const results = [loadResult({}), naive, loadResult({ processes: 2 })];
    expect(strategyLegend(results, texts.en).split('\n')).toEqual([
      '  naive            no lock',
      '  redis-lock       this library: waits, renews the lease, checks before the write',
    ]);
  });

  it.each(['en', 'zh'] as const)('explains every word of the other tables: %s', (language) => {
    const say = texts[language];
    const all = STRATEGY_NAMES.map((strategy) => loadResult({ strategy }));
    expect(strategyLegend(all, say).split('\n')).toHaveLength(STRATEGY_NAMES.length);
    const { ok, error, ...outcomes } = say.outcomes;
    for (const word of Object.values(outcomes)) expect(say.faultNotes).toContain(word);
    for (const part of PART_NAMES) expect(say.partNotes).toContain(part);
  });
});

describe('partTable', () => {
  it('has a row for each part, with what was counted without its lock and with it', () => {
    const [queue, , opening, ...others] = PARTS;
    const shown = [queue, opening, ...others].filter((part) => part !== undefined);
    const lines = partTable(shown, texts.en).split('\n');
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['part', 'lock', 'without it', 'with it'],
      [expect.stringMatching(/^─+$/)],
      ['queue', 'fair lock', '190 inverted, 20 buyers', '-'],
      ['opening', 'latch', '-', '0 early, 16 after'],
      ['payment', 'semaphore', '5 paid, 15 thrown out', '20 paid, 0 thrown out'],
      ['offer', 'read-write lock', '12 torn, 12 at once', '0 torn, 12 at once'],
      ['cart', 'multi lock', '1 sold, 1 gave up', '30 sold, 0 gave up'],
      ['ticket', 'rate limit', '10 let in, limit 5', '5 let in, limit 5'],
      ['report', '@CronLock', '2 runs, 2 processes', '1 run, 2 processes'],
      ['fence', 'fencing token', 'price 99, written late', 'price 49, kept'],
    ]);
  });
});

describe('reportText', () => {
  /** As wide as a figure can get with the largest options, on a machine that is hopelessly slow. */
  const widest = {
    strategy: 'redis-semaphore',
    processes: 16,
    stock: 10_000,
    buyers: 5_000,
    sold: 5_000,
    oversold: 4_999,
    undersold: 5_000,
    ledgerDifference: -5_000,
    refused: 5_000,
    failed: 5_000,
    ordersPerSecond: 9_999.9,
    p50Ms: 89_999.9,
    p99Ms: 89_999.9,
  } as const;
  const loads = OUTCOMES.map((outcome) => loadResult({ ...widest, outcome }));
  loads.push(loadResult({ ...widest, stock: 5_000, outcome: 'exact' }));
  const faults = FAULT_NAMES.flatMap((fault) => [
    { strategy: 'setnx-expire', fault, outcome: 'foreign-delete' } as const,
    { strategy: 'redis-semaphore', fault, outcome: 'stale-write' } as const,
    { strategy: 'lua-decrement', fault, outcome: 'lost-piece' } as const,
  ]);
  /** A dead holder deletes and writes nothing. A living one loses no piece, a frozen one deletes nothing. */
  const isPossible = ({ fault, outcome }: FaultResult): boolean => {
    if (fault.startsWith('killed')) return outcome === 'lost-piece';
    return outcome === 'stale-write' || (outcome === 'foreign-delete' && fault !== 'frozen');
  };

  it.each(['en', 'zh'])('fits into 80 columns, whatever was measured: %s', (language) => {
    const report = reportOf({ loads, faults: faults.filter(isPossible), parts: PARTS });
    const text = reportText(
      report,
      options('--stock=10000', '--buyers=5000', `--lang=${language}`),
    );
    for (const line of text.split('\n'))
      expect([line, columnsOf(line) <= 80]).toEqual([line, true]);
  });

  it('leaves the faults and the parts out where none was played', () => {
    const text = reportText(reportOf({ loads }), options());
    expect(text).not.toContain(texts.en.faultTitle);
    expect(text).not.toContain(texts.en.partTitle);
  });
});

describe('checkText', () => {
  it('says that all is as expected', () => {
    const report = reportOf({ loads: [naive], faults: [frozen], parts: PARTS }, 31_234);
    const passed = 'check passed: 16 cells as expected, 1 only measured, 31.2 s';
    expect(checkText(report, options())).toBe(passed);
    expect(checkText(report, options('--lang', 'zh'))).toBe(
      '检查通过：16 格全部符合预期，另有 1 格仅测量，31.2 秒',
    );
  });

  it('names each cell that is not, a missing failure among them', () => {
    const loads = [{ ...naive, outcome: 'exact' as const }];
    const faults: FaultResult[] = [{ ...frozen, outcome: 'stale-write' }];
    const parts = PARTS.map((part) => ({ ...part, outcome: 'ok' as const }));
    const report = reportOf({ loads, faults, parts }, 1_000);
    expect(checkText(report, options()).split('\n')).toEqual([
      'check FAILED: 9 cells not as expected, 1.0 s',
      '  naive: the rush, 2 processes: expected "oversells", saw "exact"',
      '  redis-lock: frozen beyond the lease: expected "refused", saw "stale-write"',
      '  payment: without the semaphore: expected "overloads", saw "ok"',
      '  offer: without the read-write lock: expected "torn", saw "ok"',
      '  cart: without the multi lock: expected "deadlock", saw "ok"',
      '  ticket: without the rate limit: expected "leaks", saw "ok"',
      '  report: without the @CronLock: expected "repeats", saw "ok"',
      '  fence: without the fencing token: expected "stale-write", saw "ok"',
      '  fence: with the fencing token: expected "refused", saw "ok"',
    ]);
    expect(checkText(report, options('--lang', 'zh'))).toContain('  payment：不用信号量：预期');
  });
});

describe('reportJson', () => {
  it('holds every figure and every mismatch', () => {
    const loads = [{ ...naive, outcome: 'exact' as const }];
    const report: unknown = JSON.parse(
      reportJson(reportOf({ loads, faults: [frozen], parts: PARTS }), options()),
    );
    expect(report).toMatchObject({
      stock: 100,
      buyers: 300,
      instances: 2,
      loads,
      faults: [frozen],
      parts: PARTS,
      mismatches: [{ cell: rushCell('naive', 2), expected: 'oversells' }],
    });
  });
});

describe('texts', () => {
  it('has a verdict for every outcome, in a sentence, in both languages', () => {
    for (const outcome of OUTCOMES) {
      const result = loadResult({ outcome, oversold: 1, undersold: 1, failed: 1 });
      expect(texts.en.verdict(result)).toMatch(/^[A-Z].*\.$/);
      expect(texts.zh.verdict(result)).toMatch(/。$/);
    }
  });

  it('puts a space between Chinese and Latin letters or digits, and none between Chinese', () => {
    const said = [
      ...FAULT_NAMES.map((fault) => texts.zh.cell(faultCell('setnx', fault))),
      ...OUTCOMES.map((outcome) => texts.zh.verdict(loadResult({ outcome }))),
      texts.zh.cell(rushCell('naive', 2)),
      texts.zh.duelVerdict(naive),
      ...PARTS.map((part) => texts.zh.cell(partCell(part.part, part.withLock))),
      ...PARTS.map((part) => texts.zh.partFigures(part)),
      texts.zh.loadTitle(100, 300),
      texts.zh.processes(2),
      texts.zh.foreignRedis('x'),
      texts.zh.replaced(1),
      texts.zh.portTaken(3_000),
      texts.zh.checkPassed(56, 1, '30.1'),
      texts.zh.checkFailed(1, '30.1'),
      optionTexts.zh.help,
      texts.zh.loadNotes,
      texts.zh.faultNotes,
      texts.zh.partNotes,
    ];
    expect(said).toContain('setnx：SETNX 与 EXPIRE 之间被杀');
    expect(said).toContain('setnx：GET 与 DEL 之间租约过期');
    for (const text of said) {
      expect(text).not.toMatch(/[A-Za-z0-9)][\u4e00-\u9fff]|[\u4e00-\u9fff][A-Za-z0-9-]/);
      expect(text).not.toMatch(/[\u4e00-\u9fff] +[\u4e00-\u9fff]/);
    }
  });
});
