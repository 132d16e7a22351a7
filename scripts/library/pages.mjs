// The pages of the repository that are in the package too.
import { posix } from 'node:path';

/** `error.help` links to the page on errors, which so exists for each published version. */
export const PAGES = ['README.md', 'README.zh-CN.md', 'docs/errors.md'];

const LINKS = /\[((?:`[^`]*`|[^\]`])+)\]\((?![a-z]+:|#)([^)#\s]+)([^)]*)\)/g;
const LONE_LINKS = /(?<=\n\n)\[[^\]]+\]\(([^)#\s]+)\)\n\n/g;
/** No picture is in the package, nor the paragraph that explains it. A list explains none. */
const PICTURES = /<picture>[^]*?<\/picture>\n\n(?:(?:(?!- ).+\n)+\n)?/g;

/**
 * A page as it is in the package. npm would look for the target of a relative link in the folder of the
 * library. Without a repository, a link to what is not in the package becomes its text.
 * @param {string} page
 * @param {string} text
 * @param {string} repository
 */
export function packedPage(page, text, repository) {
  const place = (/** @type {string} */ target) => posix.join(posix.dirname(page), target);
  return text
    .replace(PICTURES, '')
    .replace(LONE_LINKS, (link, /** @type {string} */ target) =>
      repository !== '' || PAGES.includes(place(target)) ? link : '',
    )
    .replace(LINKS, (link, /** @type {string[]} */ ...[shown = '', target = '', at = '']) => {
      if (repository !== '') return `[${shown}](${repository}/blob/main/${place(target)}${at})`;
      return PAGES.includes(place(target)) ? link : shown;
    });
}
