import { parseArgs } from 'node:util';
import { SHOP_LOG_LEVELS } from '../settings.js';
import type { ShopLogLevel } from '../settings.js';
import { STRATEGY_NAMES } from '../strategies/strategy.js';
import type { StrategyName } from '../strategies/strategy.js';
import { FAULT_NAMES } from './fault.js';
import type { FaultName } from './fault.js';
import { PART_NAMES } from './parts/part.js';
import type { PartName } from './parts/part.js';
import { texts } from './texts.js';
import type { Language, Texts } from './texts.js';

export interface Knobs {
  readonly stock: number;
  readonly buyers: number;
  readonly instances: number;
  readonly strategies: readonly StrategyName[];
  readonly faults: readonly FaultName[];
  readonly parts: readonly PartName[];
  readonly language: Language;
  readonly json: boolean;
  readonly web: boolean;
  readonly open: boolean;
  readonly record?: string | undefined;
  /** The port to serve on if it is free; 0: any. */
  readonly port: number;
  /**
   * The log level of the processes that serve in the end; the arena is silent while it measures.
   */
  readonly logLevel: ShopLogLevel;
  readonly mode: 'serve' | 'check' | 'tutorial' | 'help';
}

export type ParsedKnobs =
  | { readonly kind: 'knobs'; readonly knobs: Knobs }
  | { readonly kind: 'error'; readonly message: string };

class KnobError extends Error {}

const NUMBERS = {
  stock: { default: 100, min: 1, max: 10_000 },
  buyers: { default: 300, min: 1, max: 5_000 },
  instances: { default: 2, min: 2, max: 16 },
} as const;
type NumberKnob = keyof typeof NUMBERS;
const DEFAULT_PORT = '3000';
const DEFAULT_LOG_LEVEL = 'warn';

const DECLARED: Readonly<Record<string, { readonly type: 'string' | 'boolean' }>> = {
  stock: { type: 'string' },
  buyers: { type: 'string' },
  instances: { type: 'string' },
  strategies: { type: 'string' },
  faults: { type: 'string' },
  parts: { type: 'string' },
  lang: { type: 'string' },
  check: { type: 'boolean' },
  tutorial: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
};
type Given = ReadonlyMap<string, string | undefined>;

/** English, unless the surroundings or `--lang` say Chinese. Known first: errors speak it as well. */
function languageOf(args: readonly string[], environment: NodeJS.ProcessEnv): Language {
  const inline = args.find((arg) => arg.startsWith('--lang='))?.slice('--lang='.length);
  const chosen = inline ?? (args.includes('--lang') ? args[args.indexOf('--lang') + 1] : undefined);
  if (chosen === 'zh' || chosen === 'en') return chosen;
  const locale = environment['LC_ALL'] || environment['LANG'] || '';
  return locale.startsWith('zh') ? 'zh' : 'en';
}

export function parseKnobs(args: readonly string[], environment: NodeJS.ProcessEnv): ParsedKnobs {
  const language = languageOf(args, environment);
  try {
    const given = readArguments(args, texts[language]);
    return { kind: 'knobs', knobs: knobsFrom(given, language, environment) };
  } catch (error) {
    if (error instanceof KnobError) return { kind: 'error', message: error.message };
    throw error;
  }
}

function readArguments(args: readonly string[], say: Texts): Given {
  const { tokens } = parseArgs({ args: [...args], options: DECLARED, strict: false, tokens: true });
  const given = new Map<string, string | undefined>();
  for (const token of tokens) {
    if (token.kind !== 'option') {
      throw new KnobError(say.unknownKnob(token.kind === 'positional' ? token.value : '--'));
    }
    const declared = DECLARED[token.name];
    if (declared === undefined) throw new KnobError(say.unknownKnob(token.rawName));
    if (declared.type === 'boolean' && token.value !== undefined) {
      throw new KnobError(say.takesNoValue(token.rawName));
    }
    given.set(token.name, token.value);
  }
  return given;
}

function knobsFrom(given: Given, language: Language, environment: NodeJS.ProcessEnv): Knobs {
  const { PORT: port = DEFAULT_PORT, SECKILL_LOG_LEVEL: logLevel } = environment;
  const say = texts[language];
  const asked = given.has('lang') ? (given.get('lang') ?? '') : language;
  if (asked !== language) throw new KnobError(say.badValue('--lang', asked, 'zh, en'));
  const knobs: Knobs = {
    stock: numberKnob(given, 'stock', say),
    buyers: numberKnob(given, 'buyers', say),
    instances: numberKnob(given, 'instances', say),
    strategies: listKnob(given, 'strategies', STRATEGY_NAMES, say),
    faults: listKnob(given, 'faults', FAULT_NAMES, say),
    parts: listKnob(given, 'parts', PART_NAMES, say),
    language,
    json: given.has('json'),
    web: true,
    open: true,
    port: numberFrom('PORT', port, { min: 0, max: 65_535 }, say),
    logLevel: oneOf('SECKILL_LOG_LEVEL', logLevel || DEFAULT_LOG_LEVEL, SHOP_LOG_LEVELS, say),
    mode: modeOf(given, say),
  };
  const isAboutStrategies = knobs.mode === 'check' || knobs.mode === 'tutorial';
  if (isAboutStrategies && knobs.strategies.length === 0) {
    throw new KnobError(say.badValue('--strategies', 'none', STRATEGY_NAMES.join(', ')));
  }
  if (knobs.mode === 'check' && (knobs.stock < 2 || knobs.buyers <= knobs.stock)) {
    throw new KnobError(say.checkNeedsARush);
  }
  return knobs;
}

function modeOf(given: Given, say: Texts): Knobs['mode'] {
  if (given.has('help')) return 'help';
  if (!given.has('tutorial')) return given.has('check') ? 'check' : 'serve';
  const fixed = ['check', 'json', 'stock', 'buyers', 'instances', 'faults', 'parts'].find((name) =>
    given.has(name),
  );
  if (fixed !== undefined) throw new KnobError(say.notWithTutorial(`--${fixed}`));
  return 'tutorial';
}

function numberKnob(given: Given, name: NumberKnob, say: Texts): number {
  const range = NUMBERS[name];
  if (!given.has(name)) return range.default;
  return numberFrom(`--${name}`, given.get(name) ?? '', range, say);
}

function numberFrom(
  name: string,
  value: string,
  { min, max }: { readonly min: number; readonly max: number },
  say: Texts,
): number {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  throw new KnobError(say.badValue(name, value, `${min}..${max}`));
}

function listKnob<T extends string>(
  given: Given,
  name: 'strategies' | 'faults' | 'parts',
  known: readonly T[],
  say: Texts,
): readonly T[] {
  if (!given.has(name)) return known;
  if (given.get(name) === 'none') return [];
  const values = (given.get(name) ?? '').split(',');
  const chosen = values.map((value) => oneOf(`--${name}`, value, known, say));
  return known.filter((value) => chosen.includes(value));
}

function oneOf<T extends string>(name: string, value: string, known: readonly T[], say: Texts): T {
  const found = known.find((candidate) => candidate === value);
  if (found === undefined) throw new KnobError(say.badValue(name, value, known.join(', ')));
  return found;
}
