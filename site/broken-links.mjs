import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The arena shows a page of its own by such a fragment. */
const OF_THE_ARENA = /^\/(lesson\/[1-8]|playground)$/;

/**
 * The links and files that the pages of a built site name, and that do not exist; one line each.
 * @param {string} site its folder
 * @param {string} [base]
 */
export function brokenLinksIn(site, base = '/') {
  const files = readdirSync(site, { recursive: true, encoding: 'utf8' });
  const pages = files.filter((file) => file.endsWith('.html'));
  const idsOf = remembered(
    (/** @type {string} */ file) => new Set(idsIn(readFileSync(file, 'utf8'))),
  );
  const isBroken = (/** @type {URL} */ url) => {
    const file = fileAt(site, url, base);
    if (file === undefined) return true;
    const id = decoded(url.hash.slice(1));
    if (url.pathname === `${base}arena/` && OF_THE_ARENA.test(id)) return false;
    return id !== '' && file.endsWith('.html') && !idsOf(file).has(id);
  };
  return pages.flatMap((page) => {
    const address = new URL(base + page.replace(/(index)?\.html$/, ''), 'http://site');
    const links = new Set(linksIn(readFileSync(join(site, page), 'utf8')));
    const broken = [...links].filter((link) => {
      const url = URL.canParse(link, address) ? new URL(link, address) : undefined;
      return url === undefined || (url.host === 'site' && isBroken(url));
    });
    return broken.map((link) => `${page}: ${link}`);
  });
}

/**
 * The file that a static server answers with: a page has no `.html` in its address.
 * @param {string} site
 * @param {URL} url
 * @param {string} base
 */
export function fileAt(site, { pathname }, base) {
  const address = decoded(pathname);
  if (!address.startsWith(base) || address.includes('..')) return undefined;
  const path = address.slice(base.length);
  const names = path === '' || path.endsWith('/') ? [`${path}index.html`] : [path, `${path}.html`];
  return names
    .map((name) => join(site, name))
    .find((file) => existsSync(file) && statSync(file).isFile());
}

/** @param {string} text as it is, if it is not encoded well */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} html */
function linksIn(html) {
  const attributes = [...html.matchAll(/\s(?:href|src|srcset)="([^"]*)"/g)];
  return attributes.map(([, link = '']) => link.replaceAll('&amp;', '&'));
}

/** @param {string} html */
function idsIn(html) {
  return [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => id.replaceAll('&amp;', '&'));
}

/**
 * @template T
 * @param {(key: string) => T} find
 * @returns {(key: string) => T}
 */
function remembered(find) {
  const found = new Map();
  return (key) => {
    if (!found.has(key)) found.set(key, find(key));
    return found.get(key);
  };
}
