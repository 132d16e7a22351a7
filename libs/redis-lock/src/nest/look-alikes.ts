import { LockConfigurationError, quoteName } from '../core/api/errors.js';

const NAME = String.raw`([A-Za-z_]\w*(?:\.\w+)*|\d+)`;
const WORD = String.raw`([A-Za-z](?:\w*[A-Za-z\d])?)`;

/**
 * Placeholders of other libraries: `:id`, `#id`, `$id`, `{id}`, `#{id}`, `%{id}`, `{{id}}`,
 * `%(id)s`, `%s`. In `orders:nightly` and `job#nightly` the word is no placeholder.
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
  /** The names of the parameters that decorators know. */
  readonly names?: readonly string[];
  /** Put before the name in a placeholder. */
  readonly path?: string;
  /** The way to write a key that is meant as it stands. */
  readonly literally: string;
}

/**
 * Checks a key that has values, and no placeholder that would take one.
 * @throws {LockConfigurationError} it has something that looks like a placeholder
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
    `${where}: ${found.join(' and ')} is plain text, and all values would share one lock; ` +
      `write ${quoteName(meant)}, or, if it is meant so, ${literally}`,
  );
}
