import { describe, expect, it } from '@jest/globals';
import { CELLS, SERVERS } from '../../scripts/matrix/cells.mjs';
import { clientOf, NOT_RUN, rowOf, rowsOf, withRows } from '../../scripts/matrix/page.mjs';
import { pageOf } from '../support/proofs.js';

const PAGE = pageOf('docs/internals/matrix.md');
const ROWS = rowsOf(PAGE);

describe('the matrix in docs/internals/matrix.md', () => {
  it('has the cells of the script', () => {
    expect(ROWS.map(([name]) => name)).toEqual(CELLS.map(({ name }) => name));
  });

  it.each(CELLS.map((cell) => [cell.name, cell] as const))(
    '%s is what the script provides, and nothing in it has failed',
    (name, { server, node, ...client }) => {
      const [, ...row] = ROWS.find(([first]) => first === name) ?? [];
      const version = SERVERS[server]?.version ?? '';
      if (row.includes(NOT_RUN)) {
        expect(row).toEqual([version, node, clientOf(client), NOT_RUN, NOT_RUN, '', '']);
        return;
      }
      const count = /^[\d,]+ passed$/;
      expect(row).toEqual([
        expect.stringMatching(`^${version}\\.\\d+$`),
        node,
        expect.stringMatching(`^${clientOf(client)}`),
        expect.stringMatching(count),
        expect.stringMatching(count),
        expect.stringMatching(/^(none|\d+: .+)$/),
        expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      ]);
    },
  );

  it('is written as the script writes it', async () => {
    expect(await withRows(PAGE, ROWS)).toBe(PAGE);
  });
});

describe('the page that the matrix writes', () => {
  const result = {
    ...{ name: 'redis-6.2', server: 'Redis 6.2.5', node: '20.19.0', client: 'ioredis 6.0.0' },
    counts: [
      { passed: 7_402, failed: 0, skipped: { 'no TLS': 11, 'no messages': 4 } },
      { passed: 1_600, failed: 2, skipped: { 'no messages': 2 } },
    ],
  } as const;
  const row = rowOf(result, '2026-01-31');

  it('says what ran, what failed, and what was skipped why', () => {
    expect(row.slice(4)).toEqual([
      ...['7,402 passed', '1,600 passed, **2 failed**'],
      ...['11: no TLS. 6: no messages', '2026-01-31'],
    ]);
  });

  it('has new rows in the place of old ones, and the text around them as it was', async () => {
    const old = rowOf({ ...result, server: 'Redis 6.2.0' }, '2025-01-31');
    const other = ['valkey-9', ...old.slice(1)];
    const page = 'Above.\n\n<!-- npm run matrix -->\n<!-- end -->\n\nBelow.\n';
    const written = await withRows(await withRows(page, [other, old]), [row]);
    const [first, ...rest] = rowsOf(written);
    expect([first, rest.at(3)]).toEqual([row, other]);
    expect(rest.map((cells) => cells[4] === NOT_RUN)).toEqual(rest.map((_, i) => i !== 3));
    expect(written).toMatch(
      /^Above\.\n\n<!-- npm run matrix -->\n\n\| cell .*<!-- end -->\n\nBelow\.\n$/s,
    );
  });
});
