import { describe, expect, it } from '@jest/globals';
import { FAULT_NAMES } from '../../apps/seckill-demo/src/arena/fault.js';
import { parseKnobs } from '../../apps/seckill-demo/src/arena/knobs.js';
import { PART_NAMES } from '../../apps/seckill-demo/src/arena/parts/part.js';
import { STRATEGY_NAMES } from '../../apps/seckill-demo/src/strategies/strategy.js';

const english = { LANG: 'en_US.UTF-8' };

describe('parseKnobs', () => {
  it('fills in everything that is not given', () => {
    expect(parseKnobs([], english)).toEqual({
      kind: 'knobs',
      knobs: {
        stock: 100,
        buyers: 300,
        instances: 2,
        strategies: STRATEGY_NAMES,
        faults: FAULT_NAMES,
        parts: PART_NAMES,
        language: 'en',
        json: false,
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
    [['--tutorial', '--strategies', 'setnx'], { mode: 'tutorial', strategies: ['setnx'] }],
    [['--help'], { mode: 'help' }],
    [['--lang', 'zh'], { language: 'zh' }],
  ])('takes %j', (args, knobs) => {
    expect(parseKnobs(args, english)).toMatchObject({ kind: 'knobs', knobs });
  });

  it.each([
    [{}, 'en'],
    [{ LANG: 'C.UTF-8' }, 'en'],
    [{ LANG: 'zh_CN.UTF-8' }, 'zh'],
    [{ LANG: 'zh_CN.UTF-8', LC_ALL: 'C' }, 'en'],
    [{ LANG: 'en_US.UTF-8', LC_ALL: 'zh_TW' }, 'zh'],
  ])('speaks the language of %j: %s', (environment, language) => {
    expect(parseKnobs([], environment)).toMatchObject({ kind: 'knobs', knobs: { language } });
  });

  it.each([
    [['--stok', '5'], 'unknown knob --stok'],
    [['-s', '5'], 'unknown knob -s'],
    [['check'], 'unknown knob check'],
    [['--', 'x'], 'unknown knob --'],
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
    [['--check', '--strategies', 'none'], '--strategies cannot be "none"'],
    [['--check', '--stock', '300'], '--check needs'],
    [['--check', '--stock', '1'], '--check needs'],
    [['--tutorial', '--stock', '5'], '--tutorial is always the same sale; leave --stock out'],
    [['--tutorial', '--parts', 'none'], 'leave --parts out'],
    [['--tutorial', '--check'], 'leave --check out'],
  ])('refuses %j in one line', (args, message) => {
    const parsed = parseKnobs(args, english);
    expect(parsed).toMatchObject({ kind: 'error', message: expect.stringContaining(message) });
    expect(parsed.kind === 'error' && parsed.message).not.toContain('\n');
  });

  it('refuses a PORT that is none', () => {
    expect(parseKnobs([], { PORT: 'http' })).toMatchObject({ kind: 'error' });
    expect(parseKnobs([], { PORT: '70000' })).toMatchObject({ kind: 'error' });
    expect(parseKnobs([], { PORT: '0' })).toMatchObject({ kind: 'knobs', knobs: { port: 0 } });
  });

  it('takes the log level of the shop from the surroundings', () => {
    const parse = (level: string) => parseKnobs([], { SECKILL_LOG_LEVEL: level });
    expect(parse('debug')).toMatchObject({ kind: 'knobs', knobs: { logLevel: 'debug' } });
    expect(parse('')).toMatchObject({ kind: 'knobs', knobs: { logLevel: 'warn' } });
    const message = 'SECKILL_LOG_LEVEL cannot be "loud"; allowed: off, error, warn, log, debug';
    expect(parse('loud')).toEqual({ kind: 'error', message });
  });

  it('complains in the language that is asked for, wherever that stands', () => {
    const message = '未知选项 --stok；用 --help 查看全部选项';
    expect(parseKnobs(['--stok', '5', '--lang', 'zh'], english)).toEqual({
      kind: 'error',
      message,
    });
    expect(parseKnobs(['--lang=zh', '--stok'], english)).toEqual({ kind: 'error', message });
  });
});
