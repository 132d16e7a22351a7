import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'));

/** The findings of axe-core, one line each, with the place. */
export async function accessibilityFlaws(page: Page): Promise<string[]> {
  // Not as a script element: a page may forbid those.
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run({ resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target }) => `${id}: ${help}: ${target.join(' ')}`),
  );
}

/** The visible characters that no font has: they are drawn as an empty box. */
export function tofuOn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [48, 48];
    const brush = canvas.getContext('2d', { willReadFrequently: true });
    if (brush === null) throw new Error('no canvas');
    const draw = (character: string, font: string): string => {
      brush.clearRect(0, 0, 48, 48);
      brush.font = font;
      brush.fillText(character, 8, 32);
      return brush.getImageData(0, 0, 48, 48).data.join();
    };
    const textsIn = function* (root: Node): Generator<Text> {
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_ALL);
      for (let node: Node | null = walker.currentNode; node; node = walker.nextNode()) {
        if (node instanceof Text) yield node;
        if (node instanceof Element && node.shadowRoot) yield* textsIn(node.shadowRoot);
      }
    };
    const missing = new Set<string>();
    const seen = new Set<string>();
    for (const text of textsIn(document.body)) {
      const parent = text.parentElement ?? (text.getRootNode() as ShadowRoot).host;
      if (!parent.checkVisibility() || ['SCRIPT', 'STYLE'].includes(parent.tagName)) continue;
      const { fontFamily, fontWeight } = getComputedStyle(parent);
      const font = `${fontWeight} 24px ${fontFamily}`;
      const box = draw('\u{10fffe}', font);
      for (const character of text.data.replace(/\s/g, '')) {
        if (seen.has(font + character)) continue;
        seen.add(font + character);
        if (draw(character, font) === box) missing.add(character);
      }
    }
    return [...missing];
  });
}
