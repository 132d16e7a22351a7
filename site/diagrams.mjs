// The diagrams of the docs, drawn when the site is built: a reader's browser loads two pictures.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '../test/web/browser.mjs';
import { pairOfPictures } from './markdown.mjs';

/** @typedef {import('./pages.mjs').Page} Page */

const MERMAID = createRequire(import.meta.url).resolve('@mermaid-js/tiny/dist/mermaid.tiny.js');
const FOLDER = fileURLToPath(new URL('../dist/site-pages/public/diagrams', import.meta.url));
const BLOCK = /^```mermaid\n(.*?)^```$/gms;

const THEMES = {
  light: {
    ...{ background: '#ffffff', primaryColor: '#e3eef9', primaryBorderColor: '#8b919c' },
    ...{ primaryTextColor: '#1b1d21', lineColor: '#5a606b', textColor: '#1b1d21' },
    ...{ noteBkgColor: '#f7f7f5', noteBorderColor: '#8b919c', noteTextColor: '#1b1d21' },
    ...{ clusterBkg: '#f7f7f5', clusterBorder: '#8b919c', edgeLabelBackground: '#ffffff' },
  },
  dark: {
    ...{ background: '#1b1b1f', primaryColor: '#1c3247', primaryBorderColor: '#737b87' },
    ...{ primaryTextColor: '#e7e9ec', lineColor: '#a3aab5', textColor: '#e7e9ec' },
    ...{ noteBkgColor: '#2e3238', noteBorderColor: '#737b87', noteTextColor: '#e7e9ec' },
    ...{ clusterBkg: '#202127', clusterBorder: '#737b87', edgeLabelBackground: '#1b1b1f' },
    darkMode: true,
  },
};
const FONT = "system-ui, -apple-system, 'Segoe UI', 'PingFang SC', 'Microsoft YaHei', sans-serif";

/** @typedef {keyof typeof THEMES} Theme */
/** @typedef {{ initialize(options: object): void, render(id: string, source: string): Promise<{ svg: string }> }} Mermaid */

/** @param {Page[]} pages */
export async function drawDiagrams(pages) {
  mkdirSync(FOLDER, { recursive: true });
  const browser = await openBrowser();
  try {
    const tab = await browser.newPage();
    await tab.addScriptTag({ path: MERMAID });
    for (const { file, text } of pages) {
      for (const [, source = ''] of text.matchAll(BLOCK)) {
        if (nameOf(source) === undefined)
          throw new Error(`${file}: a diagram has no "accTitle: …", its name for screen readers`);
        const drawings = await tab.evaluate(draw, { source, themes: THEMES, font: FONT });
        for (const [theme, svg] of Object.entries(drawings))
          writeFileSync(fileOf(source, theme), svg);
      }
    }
  } finally {
    await browser.close();
  }
}

/**
 * Runs in the browser: Mermaid measures its texts there.
 * @param {{ source: string, themes: typeof THEMES, font: string }} order
 */
async function draw({ source, themes, font }) {
  const { mermaid } = /** @type {{ mermaid: Mermaid }} */ (/** @type {unknown} */ (globalThis));
  /** @type {Record<string, string>} */
  const drawings = {};
  for (const [theme, themeVariables] of Object.entries(themes)) {
    mermaid.initialize({
      ...{ startOnLoad: false, theme: 'base', themeVariables, fontFamily: font },
      look: 'classic',
      // As HTML, a label is cut off where the reader's letters are wider than those here.
      htmlLabels: false,
      flowchart: { htmlLabels: false, wrappingWidth: 320 },
      themeCSS: `.edgeLabel .label rect { fill: ${themeVariables.background}; opacity: 1 }`,
    });
    const holder = document.createElement('div');
    holder.innerHTML = (await mermaid.render('diagram', source)).svg;
    const svg = holder.querySelector('svg');
    if (svg === null) throw new Error('Mermaid drew nothing');
    // Mermaid centres the labels of states in HTML only.
    for (const label of svg.querySelectorAll('.statediagram-state > .label')) {
      const y = label.getAttribute('transform')?.split(',')[1] ?? '0)';
      label.setAttribute('transform', `translate(0,${y}`);
      label.setAttribute('text-anchor', 'middle');
    }
    svg.setAttribute('width', String(Math.ceil(svg.viewBox.baseVal.width)));
    svg.setAttribute('height', String(Math.ceil(svg.viewBox.baseVal.height)));
    drawings[theme] = new XMLSerializer().serializeToString(svg);
  }
  return drawings;
}

/**
 * The two pictures of a diagram, in a page.
 * @param {string} source
 */
export function diagramOf(source) {
  const address = (/** @type {Theme} */ theme) => `/diagrams/${keyOf(source)}.${theme}.svg`;
  const drawing = readFileSync(fileOf(source, 'light'), 'utf8');
  const [, width] = /^<svg[^>]* width="(\d+)"/.exec(drawing) ?? [];
  const rest = `width="${width}" alt="${nameOf(source)}"`;
  return `<div class="diagram" tabindex="0">${pairOfPictures(address('light'), address('dark'), rest, drawing)}</div>`;
}

/** @param {string} source */
function nameOf(source) {
  return /^ *accTitle: *(.+)$/m.exec(source)?.[1]?.replaceAll('"', '&quot;');
}

/**
 * @param {string} source
 * @param {string} theme
 */
function fileOf(source, theme) {
  return join(FOLDER, `${keyOf(source)}.${theme}.svg`);
}

/** @param {string} source */
function keyOf(source) {
  return createHash('sha1').update(source).digest('hex').slice(0, 8);
}
