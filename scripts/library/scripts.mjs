// The Lua scripts of the library, by the sources that there are.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LIBRARY } from './surface.mjs';

const SOURCES = join(LIBRARY, 'src');

/** @typedef {{ readonly name: string, readonly lua: string, readonly sha1: string }} Script */

/**
 * Every script that a source declares. Rejects when one is not exported, and so cannot be found.
 * @param {(source: URL) => Promise<unknown>} load imports a source
 */
export async function declaredScripts(load) {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.spec)\.ts$/.test(name))
    .map((name) => ({ name, declared: declarationsIn(readFileSync(join(SOURCES, name), 'utf8')) }))
    .filter(({ declared }) => declared > 0)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  /** @type {Map<string, Script>} */
  const scripts = new Map();
  for (const { name, declared } of sources) {
    const module = await load(pathToFileURL(join(SOURCES, name)));
    const exported = Object.values(/** @type {object} */ (module)).filter(isScript);
    if (exported.length < declared) throw new Error(`${name} must export each script it declares`);
    for (const script of exported.flatMap(withTwin)) {
      if (scripts.has(script.name)) throw new Error(`Two scripts have the name ${script.name}`);
      scripts.set(script.name, script);
    }
  }
  return [...scripts.values()];
}

/** @param {string} source */
function declarationsIn(source) {
  return source.match(/^(?:export )?const \w+ =\s+(?:defineScript|fencedPair)\(/gm)?.length ?? 0;
}

/**
 * A script of `fencedPair` has a twin that takes a token as well.
 * @param {Script & { fenced?: Script }} script
 */
function withTwin(script) {
  return script.fenced === undefined ? [script] : [script, script.fenced];
}

/**
 * @param {unknown} value
 * @returns {value is Script}
 */
function isScript(value) {
  return value instanceof Object && 'lua' in value && 'sha1' in value && 'name' in value;
}
