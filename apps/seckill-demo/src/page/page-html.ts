/** The import map of the page's modules; relative, so that they work from any folder. */
export const PAGE_IMPORTS: Readonly<Record<string, string>> = {
  lit: './modules/lit/index.js',
  'lit/': './modules/lit/',
  'lit-html': './modules/lit-html/lit-html.js',
  'lit-html/': './modules/lit-html/',
  'lit-element/': './modules/lit-element/',
  '@lit/reactive-element': './modules/@lit/reactive-element/reactive-element.js',
  '@lit/reactive-element/': './modules/@lit/reactive-element/',
  uplot: './modules/uplot/dist/uPlot.esm.js',
  /** One bundle of the playground's engine: `scripts/playground.mjs` writes it. */
  playground: './app/playground/bundle.js',
};

/** The first module of the page. */
export const PAGE_ENTRY = './app/page/main.js';

/** The recorded run beside the page, from which the lessons play. */
export const RECORDED_RUN = 'run.ndjson';

export const LIGHT = `
  --ground: #f7f7f5; --panel: #ffffff; --text: #1b1d21; --muted: #5a606b; --line: #e3e4e6;
  --edge: #8b919c; --accent: #0b5fae; --accent-soft: #e3eef9; --on-accent: #ffffff;
  --harm: #b3261e; --harm-soft: #fbe6e4; --on-harm: #ffffff; color-scheme: light;`;
export const DARK = `
  --ground: #121417; --panel: #1a1d21; --text: #e7e9ec; --muted: #a3aab5; --line: #2e3238;
  --edge: #737b87; --accent: #7ab8f5; --accent-soft: #1c3247; --on-accent: #0c1620;
  --harm: #ff8a80; --harm-soft: #46211f; --on-harm: #2a0b09; color-scheme: dark;`;

const STYLE = `
  :root {${LIGHT} }
  @media (prefers-color-scheme: dark) { :root {${DARK} } }
  :root[data-theme='light'] {${LIGHT} }
  :root[data-theme='dark'] {${DARK} }
  :root { --sans: system-ui, -apple-system, 'Segoe UI', Roboto, 'PingFang SC', 'Microsoft YaHei',
    'Noto Sans CJK SC', sans-serif; }
  html { font-family: var(--sans); font-size: 16px; line-height: 1.5;
    -webkit-text-size-adjust: 100%; scroll-padding-block: 92px 96px; }
  @media (max-width: 700px) { html { scroll-padding-top: 148px; } }
  body { margin: 0; background: var(--ground); color: var(--text); }
  noscript { display: block; padding: 24px; }`;

const DESCRIPTION =
  'Watch 300 buyers at a flash sale of 100 pieces: with which locks on Redis it oversells, and why. ' +
  '观看 300 名买家抢购 100 件库存：用哪些 Redis 锁会超卖，原因是什么。';

export interface PageOptions {
  /** A recorded run that the page plays if its address names none. */
  readonly run?: string;
  /** Where the docs are, if they stand beside the page. */
  readonly docs?: string;
}

/** The whole document; `page/main.ts` draws its contents. */
export function pageHtml(options: PageOptions = {}): string {
  const data = Object.entries<string>({ ...options }).map(
    ([name, value]) => ` data-${name}="${encodeURI(value)}"`,
  );
  return `<!doctype html>
<html lang="en"${data.join('')}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Flash sale arena · 秒杀擂台</title>
<meta name="description" content="${DESCRIPTION}">
<link rel="icon" href="data:,">
<style>${STYLE}
</style>
<script type="importmap">${JSON.stringify({ imports: PAGE_IMPORTS })}</script>
<script type="module" src="${PAGE_ENTRY}"></script>
</head>
<body>
<arena-page></arena-page>
<noscript>The arena needs JavaScript. 本页面需要 JavaScript。</noscript>
</body>
</html>
`;
}
