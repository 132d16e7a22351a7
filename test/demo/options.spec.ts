import { describe, expect, it } from '@jest/globals';
import { columnsOf, optionTexts } from '../../apps/seckill-demo/src/options/help.mjs';
import {
  FAULT_NAMES,
  PART_NAMES,
  STRATEGY_NAMES,
} from '../../apps/seckill-demo/src/options/names.mjs';
import { parseOptions } from '../../apps/seckill-demo/src/options/parse.mjs';

const english = { LANG: 'en_US.UTF-8' };

describe('parseOptions', () => {
  it('fills in everything that is not given', () => {
    expect(parseOptions([], english)).toEqual({
      kind: 'options',
      options: {
        stock: 100,
        buyers: 300,
        instances: 2,
        strategies: STRATEGY_NAMES,
        faults: FAULT_NAMES,
        parts: PART_NAMES,
        language: 'en',
        json: false,
        web: true,
        open: true,
        port: 3_000,
        logLevel: 'warn',
        mode: 'serve',
      },
    });
  });

  it.each([
    [['--stock', '7', '--buyers=9', '--instances', '16'], { stock: 7, buyers: 9, instances: 16 }],
    [['--strategies', 'redis-lock,naive'], { strategies: ['naive', 'redis-lock'] }],
    [['--strategies', 'none'], { strategies: [] }],
    [['--faults=frozen,slow-work'], { faults: ['slow-work', 'frozen'] }],
    [['--faults', 'none'], { faults: [] }],
    [['--parts', 'cart,queue'], { parts: ['queue', 'cart'] }],
    [['--parts=none'], { parts: [] }],
    [['--check', '--json'], { mode: 'check', json: true }],
    [['--no-web'], { web: false, open: false }],
    [['--no-open'], { web: true, open: false }],
    [['--check'], { web: false, open: false }],
    [['--json'], { mode: 'serve', web: false, open: false }],
    [['--tutorial', '--no-web', '--no-open'], { mode: 'tutorial', web: false, open: false }],
    [['--record', 'run.ndjson', '--check'], { mode: 'check', record: 'run.ndjson' }],
    [['--record=./-run.ndjson'], { record: './-run.ndjson' }],
    [['--lang', 'zh'], { language: 'zh' }],
  ])('takes %j', (args, options) => {
    expect(parseOptions(args, english)).toMatchObject({ kind: 'options', options });
  });

  it.each([
    [{}, 'en'],
    [{ LANG: 'C.UTF-8' }, 'en'],
    [{ LANG: 'zh_CN.UTF-8' }, 'zh'],
    [{ LANG: 'zh_CN.UTF-8', LC_ALL: 'C' }, 'en'],
    [{ LANG: 'en_US.UTF-8', LC_ALL: 'zh_TW' }, 'zh'],
  ])('speaks the language of %j: %s', (environment, language) => {
    expect(parseOptions([], environment)).toMatchObject({ kind: 'options', options: { language } });
  });

  it.each([
    [['--stok', '5'], 'unknown option --stok'],
    [['-s', '5'], 'unknown option -s'],
    [['check'], 'unknown option check'],
    [['--', 'x'], 'unknown option --'],
    [['--stock'], '--stock cannot be ""'],
    [['--stock', '-5'], '--stock cannot be "-5"'],
    [['--stock', '0'], '--stock cannot be "0"; allowed: 1..10000'],
    [['--stock', '1e3'], '--stock cannot be "1e3"'],
    [['--stock', '1.5'], '--stock cannot be "1.5"'],
    [['--buyers', 'many'], '--buyers cannot be "many"'],
    [['--buyers', '5001'], '--buyers cannot be "5001"; allowed: 1..5000'],
    [['--instances', '1'], '--instances cannot be "1"; allowed: 2..16'],
    [['--strategies', 'naive,hope'], '--strategies cannot be "hope"'],
    [['--strategies', ''], '--strategies cannot be ""'],
    [['--parts', 'refund'], '--parts cannot be "refund"'],
    [['--faults', 'flood'], '--faults cannot be "flood"'],
    [['--lang', 'de'], '--lang cannot be "de"; allowed: zh, en'],
    [['--lang'], '--lang cannot be ""; allowed: zh, en'],
    [['--check=yes'], '--check takes no value'],
    [['--no-web=yes'], '--no-web takes no value'],
    [['--no-page'], 'unknown option --no-page'],
    [['--web'], 'unknown option --web'],
    [['--record'], '--record needs the name of a file'],
    [['--record='], '--record needs the name of a file'],
    [['--record', '--json'], '--record needs the name of a file'],
    [['--tutorial', '--record', 'run.ndjson'], 'leave --record out'],
    [['--check', '--strategies', 'none'], '--strategies cannot be "none"'],
    [['--check', '--stock', '300'], '--check needs'],
    [['--check', '--stock', '1'], '--check needs'],
    [['--tutorial', '--stock', '5'], '--tutorial is always the same; leave --stock out'],
    [['--tutorial', '--parts', 'none'], 'leave --parts out'],
    [['--tutorial', '--strategies', 'setnx'], 'leave --strategies out'],
    [['--tutorial', '--check'], 'leave --check out'],
  ])('refuses %j in one line', (args, message) => {
    const parsed = parseOptions(args, english);
    expect(parsed).toMatchObject({ kind: 'error', message: expect.stringContaining(message) });
    expect(parsed.kind === 'error' && parsed.message).not.toContain('\n');
  });

  it('refuses a PORT that is none', () => {
    expect(parseOptions([], { PORT: 'http' })).toMatchObject({ kind: 'error' });
    expect(parseOptions([], { PORT: '70000' })).toMatchObject({ kind: 'error' });
    expect(parseOptions([], { PORT: '0' })).toMatchObject({
      kind: 'options',
      options: { port: 0 },
    });
  });

  it('takes the log level of the shop from the surroundings', () => {
    const parse = (level: string) => parseOptions([], { SECKILL_LOG_LEVEL: level });
    expect(parse('debug')).toMatchObject({ kind: 'options', options: { logLevel: 'debug' } });
    expect(parse('')).toMatchObject({ kind: 'options', options: { logLevel: 'warn' } });
    const message = 'SECKILL_LOG_LEVEL cannot be "loud"; allowed: off, error, warn, log, debug';
    expect(parse('loud')).toEqual({ kind: 'error', message });
  });

  it('complains in the language that is asked for, wherever that stands', () => {
    const message = '未知选项 --stok；用 --help 查看全部选项';
    expect(parseOptions(['--stok', '5', '--lang', 'zh'], english)).toEqual({
      kind: 'error',
      message,
    });
    expect(parseOptions(['--lang=zh', '--stok'], english)).toEqual({ kind: 'error', message });
  });

  it('gives help in the language that is asked for, whatever else is asked for', () => {
    const { en, zh } = optionTexts;
    expect(parseOptions(['--help'], english)).toEqual({ kind: 'help', text: en.help });
    expect(parseOptions(['--help', '--lang=zh'], english)).toEqual({ kind: 'help', text: zh.help });
    expect(parseOptions(['--stock', '0', '--help'], english)).toMatchObject({ kind: 'help' });
  });
});

describe('the help', () => {
  const words = [
    ...['--stock', '--buyers', '--instances', '--strategies', '--faults', '--parts', '--check'],
    ...['--tutorial', '--json', 'npm run -s demo -- --json', '--lang', '--no-web', '--no-open'],
    ...['--record FILE', 'REDIS_URL', 'DATABASE_URL', 'PORT', 'SECKILL_LOG_LEVEL'],
    ...[...STRATEGY_NAMES, ...FAULT_NAMES, ...PART_NAMES],
  ];

  it.each(Object.values(optionTexts))('names everything that can be chosen', ({ help }) => {
    expect(words.filter((word) => !help.includes(word))).toEqual([]);
  });

  it.each(Object.values(optionTexts))('has at most 80 columns', ({ help }) => {
    expect(help.split('\n').filter((line) => columnsOf(line) > 80)).toEqual([]);
  });
});
