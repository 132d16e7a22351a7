import { expect } from '@jest/globals';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { accessibilityFlaws, tofuOn } from './page-checks.js';
import { foreignTexts, overflows } from './page-texts.js';

type Look = Required<Pick<Visitor, 'language' | 'theme'>>;

export const ALL_LOOKS: readonly Look[] = [
  { language: 'zh', theme: 'light' },
  { language: 'zh', theme: 'dark' },
  { language: 'en', theme: 'dark' },
  { language: 'en', theme: 'light' },
];
/** Each language and each theme once. */
export const TWO_LOOKS: readonly Look[] = [
  { language: 'zh', theme: 'dark' },
  { language: 'en', theme: 'light' },
];

/**
 * Holds the page, as it is now, to what is asked of it on a phone and on a desktop: all visitors can use it,
 * it says everything in its language, and nothing is cut off. The page is English and light after it.
 */
export async function expectGoodLooks(page: ArenaPage, looks: readonly Look[]): Promise<void> {
  await page.openTables();
  const flaws: Record<string, readonly string[]> = {};
  for (const { language, theme } of looks) {
    await page.speak(language);
    await page.light(theme);
    flaws[`${language}, ${theme}: access`] = await accessibilityFlaws(page.page);
    flaws[`${language}: other language`] = await foreignTexts(page.page, language);
    flaws[`${language}: no such letter`] = await tofuOn(page.page);
    for (const width of [360, 1280]) {
      await page.width(width);
      flaws[`${language}, ${width} px: cut off`] = await overflows(page.page);
    }
  }
  expect(Object.entries(flaws).filter(([, found]) => found.length > 0)).toEqual([]);
}
