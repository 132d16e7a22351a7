import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

const ROOT = new URL('../../', import.meta.url);
const PATHS = ['test', 'libs/redis-lock/src'].flatMap((folder) =>
  readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(spec|contract|suite|interop)\.ts$/.test(path))
    .map((path) => `${folder}/${path}`),
);
const SPEC = /^(describe|it)$/;
const titlesOf = new Map<string, string[]>();

/** A spec that a page of the docs names for what it says. */
export interface Proof {
  /** As the page names it: a path, or the end of one where that is enough. */
  file: string;
  /** The title of the spec contains this; it is empty when all of the file is the proof. */
  title: string;
}

export function pageOf(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** `\`file\`: title; another title, \`another file\`` */
export function proofsIn(cell: string): Proof[] {
  let file = '';
  return cell.split(/; |, (?=`)/).map((part) => {
    const named = /^`([^`]+)`(?:: (.*))?$/.exec(part);
    if (named === null) return { file, title: part };
    file = named[1] ?? '';
    return { file, title: named[2] ?? '' };
  });
}

/** The files that the page may mean. */
export function filesOf({ file }: Proof): string[] {
  return PATHS.filter((path) => path === file || path.endsWith(`/${file}`));
}

/** Whether one of those files has a spec, or a group of specs, of such a title. */
export function isThere(proof: Proof): boolean {
  const files = filesOf(proof);
  if (proof.title === '') return files.length > 0;
  return files.some((path) => titlesIn(path).some((title) => title.includes(proof.title)));
}

function titlesIn(path: string): string[] {
  const known = titlesOf.get(path);
  if (known !== undefined) return known;
  const titles: string[] = [];
  const source = ts.createSourceFile(path, pageOf(path), ts.ScriptTarget.Latest);
  const visit = (node: ts.Node): void => {
    const title = ts.isCallExpression(node) && node.arguments[0];
    if (title && ts.isStringLiteralLike(title) && SPEC.test(calledBy(node)))
      titles.push(title.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  titlesOf.set(path, titles);
  return titles;
}

/** The name at the beginning of `it(…)`, `it.each(…)(…)` and the like. */
function calledBy(node: ts.Node): string {
  if (ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) {
    return calledBy(node.expression);
  }
  return ts.isIdentifier(node) ? node.text : '';
}
