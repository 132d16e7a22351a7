import { UnknownError } from '../unknown.js';

export type TokenKind = 'name' | 'keyword' | 'number' | 'text' | 'symbol' | 'end';

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly line: number;
}

const KEYWORDS =
  /^(and|break|do|else|elseif|end|false|for|function|if|in|local|nil|not|or|repeat|return|then|true|until|while)$/;

const SPACE = /(?:\s+|--\[(=*)\[[^]*?\]\1\]|--(?!\[=*\[)[^\n]*)*/y;
/** No byte is larger than 255. */
const ESCAPED = /\\(?!25[6-9]|2[6-9]\d|[3-9]\d\d)[^]/.source;
const TOKEN = new RegExp(
  [
    /[A-Za-z_]\w*/,
    /0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/,
    { source: `"(?:[^"\\\\\n]|${ESCAPED})*"|'(?:[^'\\\\\n]|${ESCAPED})*'` },
    /\.\.\.|\.\.|==|~=|<=|>=|[-+*/%^#<>=(){}[\];,.]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
);

function kindOf(text: string): TokenKind {
  if (/^[A-Za-z_]/.test(text)) return KEYWORDS.test(text) ? 'keyword' : 'name';
  if (/^\.?\d/.test(text)) return 'number';
  return /^["']/.test(text) ? 'text' : 'symbol';
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
};

function unescaped(text: string): string {
  return text
    .slice(1, -1)
    .replace(/\\(\d{1,3}|[^])/g, (_, one: string) =>
      /^\d/.test(one) ? String.fromCharCode(Number(one)) : (ESCAPES[one] ?? one),
    );
}

/** Reads the tokens of a script one by one. */
export class Cursor {
  readonly #tokens: Token[] = [];
  #at = 0;

  /** @throws {UnknownError} a character that begins no token */
  constructor(
    readonly script: string,
    lua: string,
  ) {
    let line = 1;
    const next = (pattern: RegExp, at: number): string => {
      pattern.lastIndex = at;
      return pattern.exec(lua)?.[0] ?? '';
    };
    for (let at = 0; ;) {
      const space = next(SPACE, at);
      line += linesIn(space);
      at += space.length;
      if (at === lua.length) break;
      const text = next(TOKEN, at);
      if (text === '') throw refused(script, line, `cannot read ${lua.charAt(at)}`);
      const kind = kindOf(text);
      this.#tokens.push({ kind, text: kind === 'text' ? unescaped(text) : text, line });
      line += kind === 'text' ? linesIn(text) : 0;
      at += text.length;
    }
    this.#tokens.push({ kind: 'end', text: 'the end', line });
  }

  get token(): Token {
    return this.#tokens[this.#at] as Token;
  }

  /** Whether the next token, or one behind it, is such a keyword or symbol. */
  is(text: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token?.text === text && (token.kind === 'keyword' || token.kind === 'symbol');
  }

  accept(text: string): boolean {
    const isNext = this.is(text);
    this.#at += Number(isNext);
    return isNext;
  }

  /** The text of the next token if it is of this kind. */
  take(kind: TokenKind): string | undefined {
    const { token } = this;
    this.#at += Number(token.kind === kind);
    return token.kind === kind ? token.text : undefined;
  }

  expect(text: string): void {
    if (!this.accept(text)) this.refuse(`expected ${text}, not ${this.token.text}`);
  }

  name(): string {
    return this.take('name') ?? this.refuse(`expected a name, not ${this.token.text}`);
  }

  refuse(what: string): never {
    throw refused(this.script, this.token.line, what);
  }
}

function refused(script: string, line: number, what: string): UnknownError {
  return new UnknownError(`${script}:${String(line)}: ${what}`);
}

function linesIn(text: string): number {
  return text.includes('\n') ? text.split('\n').length - 1 : 0;
}
