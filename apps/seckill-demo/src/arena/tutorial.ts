import { lessonText } from '../lessons/lesson-texts.js';
import type { Lesson } from '../lessons/lessons.js';
import { blameOf } from '../page/replay/blame.js';
import type { StrategyName } from '../strategies/strategy.js';
import type { Fleet } from './fleet.js';
import { texts } from './languages.js';
import { rush } from './load-run.js';
import type { Language } from './texts.js';

export const TUTORIAL = { productId: '1', stockKey: 'miaosha', stock: 10, buyers: 11 } as const;

/** The tutorial's sale for one stage. Resolves when the servers have printed all log lines. */
export async function tutorialSale(fleet: Fleet, strategy: StrategyName): Promise<void> {
  const { productId, stock, buyers } = TUTORIAL;
  await rush(fleet, { strategy, productId, stock, buyers });
  // The lines of a process come before its answer to a later message. The gate stays open.
  await Promise.all(fleet.members.map((member) => member.closeGate('before-read', 0)));
}

/** A lesson in the terminal, before its log: number and chapter, and the changed line. */
export function lessonHead({ number, chapter, changed }: Lesson, language: Language): string {
  const { title } = lessonText(number, language);
  return `--- ${texts[language].lesson(number, title, chapter)}\n+ ${changed}`;
}

/** After its log: the flaw of the lesson, or the reason why it has none. */
export function lessonFlaw({ cell, strategy, outcome }: Lesson, language: Language): string {
  const blame = blameOf(strategy, outcome);
  return blame === undefined ? '' : texts[language].flaw(blame.isHarm, cell, blame.why[language]);
}
