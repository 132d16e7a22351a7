export interface CodeLine {
  readonly number: number;
  readonly text: string;
}

/** The important lines: without imports, comments, and injected services. */
export function codeLines(source: string): CodeLine[] {
  const lines = blanked(source, /\/\*\*[\s\S]*?\*\//g, /^ {2}constructor\([\s\S]*?\) \{\}$/gm)
    .split('\n')
    .map((text, index) => ({ number: index + 1, text: text.trimEnd() }));
  const start = lines.findLastIndex(({ text }) => /^import |^} from /.test(text)) + 1;
  const rest = lines.slice(start);
  const first = rest.findIndex(({ text }) => text !== '');
  return rest
    .slice(Math.max(0, first), rest.findLastIndex(({ text }) => text !== '') + 1)
    .filter(({ text }, index, all) => text !== '' || all[index - 1]?.text !== '');
}

/** The emptied lines stay, so that the others keep their numbers. */
function blanked(source: string, ...patterns: readonly RegExp[]): string {
  return patterns.reduce(
    (text, pattern) => text.replace(pattern, (found) => found.replace(/[^\n]/g, '')),
    source,
  );
}
