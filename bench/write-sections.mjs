import { readFile, writeFile } from 'node:fs/promises';
import * as prettier from 'prettier';

/**
 * Replaces the text of a page between two comments: `<!-- name -->` and the next `<!-- end -->`.
 *
 * @param {string} page its path
 * @param {Record<string, string>} sections text by name
 */
export async function writeSections(page, sections) {
  let text = await readFile(page, 'utf8');
  for (const [name, section] of Object.entries(sections)) {
    const begin = `<!-- ${name} -->\n`;
    const from = text.indexOf(begin) + begin.length;
    const to = text.indexOf('<!-- end -->', from);
    if (from < begin.length || to < 0) throw new Error(`${page} has no section "${name}"`);
    text = `${text.slice(0, from)}\n${section}\n\n${text.slice(to)}`;
  }
  const options = await prettier.resolveConfig(page);
  await writeFile(page, await prettier.format(text, { ...options, parser: 'markdown' }));
}
