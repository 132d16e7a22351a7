import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = readdirSync(`${ROOT}docs`)
  .filter((page) => page.endsWith('.md'))
  .map((page) => `docs/${page}`);
const PAGES = ['README.md', 'README.zh-CN.md', ...DOCS];
/** Pages that only list what is elsewhere. */
const LISTS = ['conformance', 'from-redisson', 'guarantees', 'keys-and-scripts', 'performance'];

/** The TypeScript of a page, each block as a file of its own, with its line in the page. */
function snippetsOf(page: string): [file: string, where: string, text: string][] {
  const text = readFileSync(`${ROOT}${page}`, 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((block) => {
    const line = text.slice(0, block.index).split('\n').length;
    return [
      `${ROOT}test/docs/${page.replaceAll('/', '.')}.${line}.ts`,
      `${page}:${line}`,
      block[1] ?? '',
    ];
  });
}

/** The compiler with the settings of the project, which finds the snippets as if they were files. */
function compile(texts: ReadonlyMap<string, string>): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path);
    if (text === undefined) return getSourceFile(path, target, ...rest);
    return ts.createSourceFile(path, text, target);
  };
  return ts.createProgram([...texts.keys()], options, host);
}

describe('the code in the docs', () => {
  const snippets = PAGES.flatMap(snippetsOf);
  const program = compile(new Map(snippets.map(([file, , text]) => [file, text])));

  it('is there in every page', () => {
    for (const page of PAGES) {
      if (LISTS.includes(page.replace(/^docs\/|\.md$/g, ''))) continue;
      expect([page, snippetsOf(page).length > 0]).toEqual([page, true]);
    }
  });

  it.each(snippets.map(([file, where]) => [where, file]))('compiles: %s', (_, file) => {
    const source = program.getSourceFile(file);
    const problems = ts.getPreEmitDiagnostics(program, source);
    expect(
      problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ).toEqual([]);
  });
});
