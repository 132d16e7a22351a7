/**
 * A table in Markdown, aligned as plain text: names left, figures right.
 * @param {string[]} titles
 * @param {string[][]} rows
 */
export function table(titles, rows) {
  const widths = titles.map((title, i) =>
    Math.max(3, ...[title, ...rows.map((row) => row[i] ?? '')].map((cell) => [...cell].length)),
  );
  const line = (cells) =>
    `| ${widths.map((width, i) => aligned(cells[i] ?? '', width, i)).join(' | ')} |`;
  const rule = widths.map((width, i) =>
    i === 0 ? `:${'-'.repeat(width - 1)}` : `${'-'.repeat(width - 1)}:`,
  );
  return [line(titles), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n');
}

function aligned(cell, width, column) {
  const gap = ' '.repeat(width - [...cell].length);
  return column === 0 ? cell + gap : gap + cell;
}
