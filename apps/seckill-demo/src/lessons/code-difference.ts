export interface ComparedLine {
  readonly text: string;
  readonly sign: '+' | '−' | ' ';
}

/** The lines of both, in order. A removed line comes before the line that replaces it. */
export function codeDifference(
  before: readonly string[],
  after: readonly string[],
): ComparedLine[] {
  const lines: ComparedLine[] = [];
  let added: ComparedLine[] = [];
  let old = 0;
  const changeUpTo = (place: number): void => {
    const removed = before.slice(old, place).map((text) => ({ text, sign: '−' as const }));
    lines.push(...removed, ...added);
    added = [];
    old = place;
  };
  for (const text of after) {
    const kept = before.indexOf(text, old);
    if (kept < 0) added.push({ text, sign: '+' });
    else {
      changeUpTo(kept);
      lines.push({ text, sign: ' ' });
      old = kept + 1;
    }
  }
  changeUpTo(before.length);
  return lines;
}
