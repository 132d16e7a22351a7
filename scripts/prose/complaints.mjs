import { TextlintKernel } from '@textlint/kernel';
import markdown from '@textlint/textlint-plugin-markdown';
import chinese from './chinese.mjs';
import plainWords from './plain-words.mjs';
import { proseOfCode } from './prose-of-code.mjs';

const kernel = new TextlintKernel();

/**
 * The words of a file that are not plain, by line.
 *
 * @param {string} path
 * @param {string} text
 */
export async function complaintsAbout(path, text) {
  const isPage = path.endsWith('.md');
  const { markdown: prose, places } = isPage
    ? { markdown: text, places: undefined }
    : proseOfCode(path, text);
  const { messages } = await kernel.lintText(prose, {
    ext: '.md',
    filePath: path,
    plugins: [{ pluginId: 'markdown', plugin: markdown.default }],
    rules: [
      { ruleId: 'plain-words', rule: plainWords },
      { ruleId: 'chinese', rule: chinese },
    ],
  });
  return messages.map(({ loc: { start }, message }) => {
    const line = places?.[start.line - 1] ?? start.line;
    return `${path}:${line}: ${message}`;
  });
}
