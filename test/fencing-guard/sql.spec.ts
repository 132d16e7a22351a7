import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FencingGuard, LockArgumentError } from 'nestjs-redis-lock/core';
import initSqlJs, { type Database, type Value } from 'sql.js';

/** As large as the tokens of today. */
const TOKEN = 1_795_226_423_156_991;

describe('FencingGuard.sql', () => {
  let database: Database;
  beforeEach(async () => {
    const { Database } = await initSqlJs();
    database = new Database();
    database.run('CREATE TABLE product (id TEXT PRIMARY KEY, left INTEGER, fence BIGINT)');
    database.run("INSERT INTO product VALUES ('p1', 10, NULL), ('p2', 10, NULL)");
  });
  afterEach(() => {
    database.close();
  });

  const rows = () =>
    database.exec('SELECT left, fence FROM product ORDER BY id')[0]?.values as [number, Value][];
  /** How many rows it has changed. */
  const run = (text: string, values: Value[]) => database.run(text, values).getRowsModified();

  const byQuestionMarks = (token: number, left: number) => {
    const { assignment, condition, value } = FencingGuard.sql('fence', token, '?');
    const text = `UPDATE product SET left = ?, ${assignment} WHERE id = ? AND ${condition}`;
    return run(text, [left, value, 'p1', value]);
  };
  const byPositions = (token: number, left: number) => {
    const { assignment, condition, value } = FencingGuard.sql('fence', token, '$3');
    const text = `UPDATE product SET left = $1, ${assignment} WHERE id = $2 AND ${condition}`;
    // SQLite takes $1 for a name; its own positions are ?1.
    return run(text.replace(/\$(\d)/g, '?$1'), [left, 'p1', value]);
  };

  it.each([
    ['?', byQuestionMarks],
    ['$3', byPositions],
  ])('writes for the newest holder, and refuses those before: %s', (_, update) => {
    expect(update(TOKEN, 9)).toBe(1);
    expect(update(TOKEN, 8)).toBe(1);
    expect(update(TOKEN + 1, 7)).toBe(1);
    expect(update(TOKEN, 99)).toBe(0);
    expect(update(TOKEN + 1, 6)).toBe(1);
    expect(rows()).toEqual([
      [6, TOKEN + 1],
      [10, null],
    ]);
    expect(update(Number.MAX_SAFE_INTEGER, 5)).toBe(1);
    expect(update(Number.MAX_SAFE_INTEGER - 1, 99)).toBe(0);
    expect(rows()[0]).toEqual([5, Number.MAX_SAFE_INTEGER]);
  });

  it('says the same in one sentence for every token: values are never part of the text', () => {
    const texts = [1, TOKEN, Number.MAX_SAFE_INTEGER].map((token) => {
      const { assignment, condition } = FencingGuard.sql('fence', token, '?');
      return `${assignment} | ${condition}`;
    });
    expect(new Set(texts)).toEqual(new Set(['fence = ? | (fence IS NULL OR fence <= ?)']));
    expect(FencingGuard.sql('fence', 7, '$12')).toEqual({
      assignment: 'fence = $12',
      condition: '(fence IS NULL OR fence <= $12)',
      value: 7,
    });
  });

  const injections = [
    ...['fence = 1; DROP TABLE product; --', "fence' OR '1'='1", 'fence) OR (1=1', 'fence--'],
    ...['"fence"', '`fence`', 'fence ', ' fence', 'a.fence', 'fence\n', 'fence\0', 'fénce'],
    ...['1fence', '', 'x'.repeat(64), 'fence/**/', 'fence;', '?', '$1'],
  ];
  it.each(injections)('refuses the column %p', (column) => {
    expect(() => FencingGuard.sql(column, TOKEN, '?')).toThrow(LockArgumentError);
  });
  it.each([
    ...['', '? OR 1=1', '$0', '$1; DROP TABLE product', '$01', '$x', ':fence', '??', '$', "'1'"],
    ...['$1\n', ' ?', '$123456', '1'],
  ])('refuses the placeholder %p', (placeholder) => {
    expect(() => FencingGuard.sql('fence', TOKEN, placeholder)).toThrow(LockArgumentError);
  });
  it.each([undefined, null, 0, -1, 1.5, NaN, 2 ** 53, '1 OR 1=1', 7n, {}])(
    'refuses the token %p',
    (token) => {
      expect(() => FencingGuard.sql('fence', token as number, '?')).toThrow(LockArgumentError);
    },
  );
  it.each([undefined, null, 1, {}, []])('refuses %p as a column and as a placeholder', (text) => {
    expect(() => FencingGuard.sql(text as never, TOKEN, '?')).toThrow(LockArgumentError);
    expect(() => FencingGuard.sql('fence', TOKEN, text as never)).toThrow(LockArgumentError);
  });

  it('takes the names that columns have', () => {
    for (const column of ['fence', '_fence', 'Fence2', 'x'.repeat(63)]) {
      expect(FencingGuard.sql(column, 1, '?').assignment).toBe(`${column} = ?`);
    }
  });
});
