import {
  describeValue,
  LockConfigurationError,
  LockError,
  LockKeyError,
  quoteName,
} from '../core/api/errors.js';
import { UNSAFE_CHARACTERS } from '../core/api/shapes.js';
import { KeySpace, MAX_KEY_BYTES } from '../core/redis/key-names.js';
import { refuse } from '../core/api/refuse.js';

/** `<order.items.0>` has the head `order` and the path `items`, `0`. */
export interface Placeholder {
  readonly text: string;
  readonly head: string;
  readonly path: readonly string[];
}

/** The source of a placeholder's value in the input. */
export interface Source<Input> {
  /** The name of the value in messages. The path leads on from it, through own properties. */
  readonly start: string;
  read(input: Input): unknown;
  readonly path: readonly string[];
}

interface Part<Input> {
  readonly text: string;
  readonly source: Source<Input>;
  /** The fixed text behind it, up to the next placeholder or the end. */
  readonly literal: string;
  /** Escapes the characters that a value must not have. */
  readonly encode: (value: string) => string;
}

/**
 * Returns a function that fills in the template.
 *
 * Different tuples of values give different keys. Outside an escape, an encoded value never
 * contains the character that follows it. It has `%` only at the start of an escape. So a reader
 * from left to right finds the end of every value except the last. The last value ends a fixed
 * length before the end of the key. Escapes are reversible, since `%` is escaped too, and `u` is no
 * hexadecimal digit.
 * @param where begins the messages of the errors
 * @throws {LockConfigurationError} the template is malformed, or `sourceOf` knows no source
 */
export function compileTemplate<Input>(
  template: string,
  where: string,
  sourceOf: (placeholder: Placeholder) => Source<Input>,
): (input: Input) => string {
  const { begin, parts } = parse(template, where);
  const compiled = parts.map((part, i): Part<Input> => {
    const isLast = i === parts.length - 1;
    const encode = encoderOf(isLast ? undefined : firstCharacter(part.literal));
    return { text: part.text, literal: part.literal, source: sourceOf(part), encode };
  });
  return (input) => {
    let name = begin;
    for (const part of compiled) name += render(part, template, input) + part.literal;
    return name;
  };
}

/** Leaves room for the paths of placeholders in the longest key. */
const MOST_CHARACTERS = 4 * MAX_KEY_BYTES;

type ParsedPart = Placeholder & { readonly literal: string };

function parse(template: string, where: string) {
  if (template === '') refuse(where, 'the key must not be empty');
  if (template.length > MOST_CHARACTERS) {
    refuse(where, `the key is longer than ${String(MOST_CHARACTERS)} characters`);
  }
  if (template.includes('${')) refuse(where, `write <name>, not \${name}: placeholders are <…>`);
  const [begin = '', ...rest] = template.split('<');
  const parts = rest.map((text, i): ParsedPart => {
    const end = text.indexOf('>');
    if (end === -1) refuse(where, 'a "<" is never closed by ">"');
    const placeholder = placeholderOf(text.slice(0, end), where);
    const literal = text.slice(end + 1);
    if (literal === '' && i < rest.length - 1) {
      throw new LockConfigurationError(
        `${where}: <${placeholder.text}> and the placeholder after it need a text between them, ` +
          'or different values would give the same name',
      );
    }
    if (literal.startsWith('%')) {
      throw new LockConfigurationError(
        `${where}: the text after <${placeholder.text}> must not begin with "%", which starts an escape`,
      );
    }
    return { ...placeholder, literal };
  });
  refuseUnusable([begin, ...parts.map(({ literal }) => literal)], where);
  return { begin, parts };
}

function placeholderOf(text: string, where: string): Placeholder {
  const [head = '', ...path] = text.split('.');
  if ([head, ...path].some((segment) => !/^[^\s.<>]+$/.test(segment))) {
    throw new LockConfigurationError(
      `${where}: <${text}> is no placeholder; write <name>, <name.property>, <0> or <0.property>`,
    );
  }
  return { text, head, path };
}

/** Refuses fixed text that no lock name may contain: every call would fail. */
function refuseUnusable(literals: readonly string[], where: string): void {
  try {
    // An x stands for each value. A template of nothing but a hash tag is usable with a prefix.
    const name = literals.join('x');
    new KeySpace('').key(`${name}x`);
    new KeySpace('').key(`x${name}`);
  } catch (error) {
    if (!(error instanceof LockKeyError)) throw error;
    throw new LockConfigurationError(`${where}: no value makes a usable name. ${error.message}`, {
      cause: error,
    });
  }
}

function firstCharacter(text: string): string | undefined {
  const [character] = text;
  return character;
}

function render<Input>(part: Part<Input>, template: string, input: Input): string {
  const value = follow(part, template, input);
  switch (typeof value) {
    case 'string':
      if (value === '') throw badValue(part, template, 'is an empty string');
      // Not encoded: no name has room for this value.
      if (value.length > MAX_KEY_BYTES) {
        throw badValue(part, template, `is a string of ${String(value.length)} characters`);
      }
      return part.encode(value);
    case 'number':
      if (!Number.isFinite(value)) throw badValue(part, template, `is ${String(value)}`);
      return part.encode(String(value));
    case 'bigint':
    case 'boolean':
      return part.encode(String(value));
    default:
      throw badValue(part, template, `is ${describeValue(value)}`);
  }
}

/** Only own properties: `<dto.constructor.name>` must not read a value that no caller wrote. */
function follow<Input>(part: Part<Input>, template: string, input: Input): unknown {
  try {
    const { source } = part;
    let value = source.read(input);
    let read = source.start;
    for (const property of source.path) {
      if (typeof value !== 'object' || value === null) {
        throw badValue(part, template, `has no value: ${read} is ${describeValue(value)}`);
      }
      if (!Object.hasOwn(value, property)) {
        throw badValue(part, template, `has no value: ${read} has no own property "${property}"`);
      }
      value = (value as Readonly<Record<string, unknown>>)[property];
      read += `.${property}`;
    }
    return value;
  } catch (error) {
    if (error instanceof LockError) throw error;
    throw badValue(part, template, 'cannot be read: its getter threw an error', {
      ...{ cause: error, origin: 'code' },
    });
  }
}

function badValue(
  { text }: { readonly text: string },
  template: string,
  what: string,
  details: { cause?: unknown; origin?: 'code' } = {},
): LockKeyError {
  return new LockKeyError(
    `The lock name ${quoteName(template)} cannot be made: <${text}> ${what}. ` +
      `It takes a string of 1 to ${String(MAX_KEY_BYTES)} bytes, a finite number, a bigint or a boolean`,
    details,
  );
}

/**
 * Nearly every value has this form. Then only the character after the placeholder needs a check.
 */
const PLAIN = /^[\w.:/-]*$/;

/**
 * Returns the function that escapes characters that no name may contain, and the one that ends the
 * value.
 */
function encoderOf(terminator: string | undefined): (value: string) => string {
  const end = terminator === undefined ? '' : `\\u{${codeOf(terminator)}}`;
  // One pass: escapes themselves must not be escaped again.
  const reserved = new RegExp(`[%{}${end}]|${UNSAFE_CHARACTERS.source}`, 'gu');
  return (value) => {
    const isPlain = PLAIN.test(value) && (terminator === undefined || !value.includes(terminator));
    return isPlain ? value : value.replace(reserved, escaped);
  };
}

function escaped(character: string): string {
  // UTF-8 has no bytes for one half of a surrogate pair.
  if (/^\p{Cs}$/u.test(character)) return `%u${codeOf(character)}`;
  const asInUrls = encodeURIComponent(character);
  // Urls spare some ASCII characters.
  return asInUrls === character ? `%${codeOf(character)}` : asInUrls;
}

function codeOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
}

const NAME = String.raw`([A-Za-z_]\w*(?:\.\w+)*|\d+)`;
const WORD = String.raw`([A-Za-z](?:\w*[A-Za-z\d])?)`;

/**
 * Placeholders of other libraries: `:id`, `#id`, `$id`, `{id}`, `#{id}`, `%{id}`, `{{id}}`,
 * `%(id)s`, `%s`. In `orders:nightly` and `job#nightly` nothing separates the word: they do not
 * match.
 */
const LOOK_ALIKES = new RegExp(
  [
    `(?<=^|[_/.-]):${WORD}`,
    `(?<=^|[_/.:-])#${WORD}`,
    `(?<=^|[_/.:-])\\$(?:${WORD}|(\\d+))`,
    `[#$%]?\\{{1,2}${NAME}\\}{1,2}`,
    `%\\(${NAME}\\)[sd]`,
    '%[sdif](?![A-Za-z\\d])',
  ].join('|'),
  'g',
);

/** Parts of the message. */
interface Advice {
  /** Names of the parameters, as far as decorators know them. */
  readonly names?: readonly string[];
  /** Put before the name in a placeholder. */
  readonly path?: string;
  /** How to write a key whose text is meant literally. */
  readonly literally: string;
}

/**
 * Refuses a key without placeholders that contains placeholders of another library.
 * @throws {LockConfigurationError} it contains one
 */
export function refuseLookAlikes(
  key: string,
  where: string,
  { names = [], path = '', literally }: Advice,
): void {
  if (key.includes('<')) return;
  const found: string[] = [];
  const meant = key.replace(LOOK_ALIKES, (text, ...groups) => {
    const name = groups.slice(0, -2).find((group): group is string => typeof group === 'string');
    const isTag = text.startsWith('{') && key.startsWith(text);
    if (isTag && !names.includes(String(name)) && !/^(?:\w*[iI]d|\d+)$/.test(String(name))) {
      return text;
    }
    found.push(text);
    return `<${path}${name ?? String(found.length - 1)}>`;
  });
  if (found.length === 0) return;
  throw new LockConfigurationError(
    `${where}: ${found.join(' and ')} is plain text, so all values would share one lock; ` +
      `write ${quoteName(meant)}, or, if intended, ${literally}`,
  );
}
