// Read before anything is installed or built: Node built-ins and files like this one only.
import { parseArgs } from 'node:util';
import { optionTexts } from './help.mjs';
import { FAULT_NAMES, LANGUAGES, PART_NAMES, SHOP_LOG_LEVELS, STRATEGY_NAMES } from './names.mjs';

/**
 * @typedef {object} Chosen
 * @property {number} stock
 * @property {number} buyers
 * @property {number} instances
 * @property {readonly import('./names.mjs').StrategyName[]} strategies
 * @property {readonly import('./names.mjs').FaultName[]} faults
 * @property {readonly import('./names.mjs').PartName[]} parts
 * @property {Language} language
 * @property {boolean} json
 * @property {boolean} web whether a page shows the run as well
 * @property {boolean} open whether a browser opens the page
 * @property {string} [record] the file that gets the steps of the run
 * @property {number} port the port to serve on, if it is free; 0: any port
 * @property {import('./names.mjs').ShopLogLevel} logLevel the log level of the processes that serve
 *   at the end; the arena logs nothing while it measures
 * @property {'serve' | 'check' | 'tutorial'} mode
 */

/** @typedef {Readonly<Chosen>} Options */

/**
 * @typedef {{ readonly kind: 'options', readonly options: Options }
 *   | { readonly kind: 'help', readonly text: string }
 *   | { readonly kind: 'error', readonly message: string }} Parsed
 */

/** @typedef {import('./names.mjs').Language} Language */
/** @typedef {import('./help.mjs').OptionTexts} Texts */
/** @typedef {ReadonlyMap<string, string | undefined>} Given */

class OptionError extends Error {}

const NUMBERS = {
  stock: { default: 100, min: 1, max: 10_000 },
  buyers: { default: 300, min: 1, max: 5_000 },
  instances: { default: 2, min: 2, max: 16 },
};
const DEFAULT_PORT = '3000';
const DEFAULT_LOG_LEVEL = 'warn';

/** @type {Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>} */
const DECLARED = {
  stock: { type: 'string' },
  buyers: { type: 'string' },
  instances: { type: 'string' },
  strategies: { type: 'string' },
  faults: { type: 'string' },
  parts: { type: 'string' },
  lang: { type: 'string' },
  record: { type: 'string' },
  check: { type: 'boolean' },
  tutorial: { type: 'boolean' },
  json: { type: 'boolean' },
  'no-web': { type: 'boolean' },
  'no-open': { type: 'boolean' },
  help: { type: 'boolean' },
};
/** `--tutorial` measures nothing, and its sale is always the same. */
const NOT_WITH_TUTORIAL = [
  ...['check', 'json', 'record'],
  ...['stock', 'buyers', 'instances', 'strategies', 'faults', 'parts'],
];

/**
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Parsed}
 */
export function parseOptions(args, environment) {
  const language = languageOf(args, environment);
  try {
    const given = readArguments(args, optionTexts[language]);
    if (given.has('help')) return { kind: 'help', text: optionTexts[language].help };
    return { kind: 'options', options: optionsFrom(given, language, environment) };
  } catch (error) {
    if (error instanceof OptionError) return { kind: 'error', message: error.message };
    throw error;
  }
}

/**
 * English, unless the environment or `--lang` chooses Chinese. Known first, because errors need it.
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Language}
 */
function languageOf(args, environment) {
  const inline = args.find((arg) => arg.startsWith('--lang='))?.slice('--lang='.length);
  const chosen = inline ?? (args.includes('--lang') ? args[args.indexOf('--lang') + 1] : undefined);
  if (chosen === 'zh' || chosen === 'en') return chosen;
  const locale = environment['LC_ALL'] || environment['LANG'] || '';
  return locale.startsWith('zh') ? 'zh' : 'en';
}

/**
 * @param {readonly string[]} args
 * @param {Texts} say
 * @returns {Given}
 */
function readArguments(args, say) {
  const { tokens } = parseArgs({ args: [...args], options: DECLARED, strict: false, tokens: true });
  const given = new Map();
  for (const token of tokens) {
    if (token.kind !== 'option') {
      throw new OptionError(say.unknownOption(token.kind === 'positional' ? token.value : '--'));
    }
    const declared = DECLARED[token.name];
    if (declared === undefined) throw new OptionError(say.unknownOption(token.rawName));
    if (declared.type === 'boolean' && token.value !== undefined) {
      throw new OptionError(say.takesNoValue(token.rawName));
    }
    given.set(token.name, token.value);
  }
  return given;
}

/**
 * @param {Given} given
 * @param {Language} language
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Options}
 */
function optionsFrom(given, language, environment) {
  const { PORT: port = DEFAULT_PORT, SECKILL_LOG_LEVEL: logLevel } = environment;
  const say = optionTexts[language];
  const asked = given.has('lang') ? (given.get('lang') ?? '') : language;
  if (asked !== language) {
    throw new OptionError(say.badValue('--lang', asked, LANGUAGES.join(', ')));
  }
  const mode = modeOf(given, say);
  const web = mode === 'serve' && !given.has('json') && !given.has('no-web');
  const options = {
    stock: numberOption(given, 'stock', say),
    buyers: numberOption(given, 'buyers', say),
    instances: numberOption(given, 'instances', say),
    strategies: listOption(given, 'strategies', STRATEGY_NAMES, say),
    faults: listOption(given, 'faults', FAULT_NAMES, say),
    parts: listOption(given, 'parts', PART_NAMES, say),
    language,
    json: given.has('json'),
    web,
    open: web && !given.has('no-open'),
    ...(given.has('record') && { record: fileOption(given, 'record', say) }),
    port: numberFrom('PORT', port, { min: 0, max: 65_535 }, say),
    logLevel: oneOf('SECKILL_LOG_LEVEL', logLevel || DEFAULT_LOG_LEVEL, SHOP_LOG_LEVELS, say),
    mode,
  };
  refuseSenseless(options, say);
  return options;
}

/**
 * @param {Given} given
 * @param {Texts} say
 * @returns {Options['mode']}
 */
function modeOf(given, say) {
  if (!given.has('tutorial')) return given.has('check') ? 'check' : 'serve';
  const fixed = NOT_WITH_TUTORIAL.find((name) => given.has(name));
  if (fixed !== undefined) throw new OptionError(say.notWithTutorial(`--${fixed}`));
  return 'tutorial';
}

/**
 * @param {Options} options
 * @param {Texts} say
 */
function refuseSenseless({ mode, strategies, stock, buyers }, say) {
  if (mode === 'check' && strategies.length === 0) {
    throw new OptionError(say.badValue('--strategies', 'none', STRATEGY_NAMES.join(', ')));
  }
  if (mode === 'check' && (stock < 2 || buyers <= stock)) {
    throw new OptionError(say.checkNeedsARush);
  }
}

/**
 * @param {Given} given
 * @param {keyof typeof NUMBERS} name
 * @param {Texts} say
 */
function numberOption(given, name, say) {
  const range = NUMBERS[name];
  if (!given.has(name)) return range.default;
  return numberFrom(`--${name}`, given.get(name) ?? '', range, say);
}

/**
 * @param {string} name
 * @param {string} value
 * @param {{ readonly min: number, readonly max: number }} range
 * @param {Texts} say
 */
function numberFrom(name, value, { min, max }, say) {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  throw new OptionError(say.badValue(name, value, `${min}..${max}`));
}

/**
 * @param {Given} given
 * @param {string} name
 * @param {Texts} say
 */
function fileOption(given, name, say) {
  const file = given.get(name) ?? '';
  // A name with a dash in front is an option that came where the name is missing.
  if (file === '' || file.startsWith('-')) throw new OptionError(say.needsFile(`--${name}`));
  return file;
}

/**
 * @template {string} T
 * @param {Given} given
 * @param {'strategies' | 'faults' | 'parts'} name
 * @param {readonly T[]} known
 * @param {Texts} say
 * @returns {readonly T[]}
 */
function listOption(given, name, known, say) {
  if (!given.has(name)) return known;
  if (given.get(name) === 'none') return [];
  const values = (given.get(name) ?? '').split(',');
  const chosen = values.map((value) => oneOf(`--${name}`, value, known, say));
  return known.filter((value) => chosen.includes(value));
}

/**
 * @template {string} T
 * @param {string} name
 * @param {string} value
 * @param {readonly T[]} known
 * @param {Texts} say
 * @returns {T}
 */
function oneOf(name, value, known, say) {
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new OptionError(say.badValue(name, value, known.join(', ')));
  return found;
}
