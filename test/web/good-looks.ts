import { expect } from '@jest/globals';
import type { ArenaPage, Visitor } from './arena-visit.js';
import { accessibilityFlaws, tofuOn } from './page-checks.js';
import { foreignTexts, overflows } from './page-texts.js';

type Look = Required<Pick<Visitor, 'language' | 'theme'>> & { readonly widths: readonly number[] };

/** Each language and each theme once. Whether all visitors can use it is checked at the last width. */
const LOOKS: readonly Look[] = [
  { language: 'zh', theme: 'dark', widths: [1280, 360] },
  { language: 'en', theme: 'light', widths: [360, 1280] },
];

/**
 * Holds the page, as it is now, to what is asked of it on a phone and on a desktop: all visitors can use it,
 * it says everything in its language, and nothing is cut off. The page is English, light and wide after it.
 */
export async function expectGoodLooks(page: ArenaPage): Promise<void> {
  await page.openTables();
  const flaws: Record<string, readonly string[]> = {};
  for (const { language, theme, widths } of LOOKS) {
    await page.speak(language);
    await page.light(theme);
    flaws[`${language}: other language`] = await foreignTexts(page.page, language);
    flaws[`${language}: no such letter`] = await tofuOn(page.page);
    for (const width of widths) {
      await page.width(width);
      flaws[`${language}, ${width} px: cut off`] = await overflows(page.page);
    }
    flaws[`${language}, ${theme}: access`] = await accessibilityFlaws(page.page);
  }
  expect(Object.entries(flaws).filter(([, found]) => found.length > 0)).toEqual([]);
}
