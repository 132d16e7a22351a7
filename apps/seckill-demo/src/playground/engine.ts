import type { PlaygroundStrategy } from './experiment.js';
import { asserted, guarded, plain, sellOne, STRATEGIES } from './strategies.js';

export { run } from './run.js';
export { search } from './search.js';

const BOOKS = { asserted, guarded, plain };

/** The code that runs for each order, as the compiler has printed it: the strategy, and its sale. */
export function sourceOf(strategy: PlaygroundStrategy): string {
  const own = STRATEGIES[strategy].toString();
  const [name, book] =
    Object.entries(BOOKS).find(([name]) => own.includes(`${name}(shop`)) ??
    (['plain', plain] as const);
  const texts = [
    named(`'${strategy}'`, own),
    sellOne.toString(),
    `const ${name} = ${book.toString()}`,
  ];
  return texts.map(tidy).join('\n\n');
}

/** A method has its name in its text, a function has not. */
function named(name: string, own: string): string {
  return own.startsWith('(') || own.startsWith('async (') ? `${name}: ${own}` : own;
}

/** Two spaces for each step to the right, from the left edge. */
function tidy(code: string): string {
  const lines = code.split('\n');
  const edge = /^ */.exec(lines.at(-1) ?? '')?.[0].length ?? 0;
  return lines
    .map((line, index) => {
      const text = line.trimStart();
      const indent = index === 0 ? 0 : Math.max(0, line.length - text.length - edge) / 2;
      return (
        ' '.repeat(indent) + text.replace(/\bfinally\{/, 'finally {').replace(/ ?=> ?/g, ' => ')
      );
    })
    .join('\n');
}
