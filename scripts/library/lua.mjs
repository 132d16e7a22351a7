// The Lua scripts as Redis gets them: `npm run lua` writes them anew, for a review to show.
//   --check   fails if they are not what is committed
// Either way it fails if one of them uses or declares a name in vain, or if a fragment does not say
// which names it needs and defines.
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { compile, importCompiled } from '../compile.mjs';
import { findingsIn, namesIn } from './lua-check.mjs';
import { differences, settle } from './lua-files.mjs';
import { declaredScripts } from './scripts.mjs';
import { LIBRARY } from './surface.mjs';

/** @typedef {{ FRAGMENTS: Record<'needs' | 'defines' | 'lua' | 'given', string>[] }} Fragments */

const FOLDER = join(LIBRARY, 'lua');
const PARTS = pathToFileURL(join(LIBRARY, 'src/primitives/lua/fragment.ts'));
const check = argv.includes('--check');

await compile();
const scripts = await declaredScripts(importCompiled);
scripts.sort((a, b) => (a.name < b.name ? -1 : 1));
const due = new Map(scripts.map(({ name, lua }) => [`${name}.lua`, lua]));

const differing = check ? differences(FOLDER, due) : settle(FOLDER, due);
const listed = differing.map(({ file, is }) => `lua/${file} (${is})`).join(', ');
if (check && listed) fail(`Not as reviewed: ${listed}. If that is meant: npm run lua`);
else if (listed) console.log(`Written anew: ${listed}`);

for (const [file, lua] of due)
  for (const { line, says } of findingsIn(lua)) fail(`lua/${file}:${line}: ${says}`);

/** @type {unknown} */
const parts = await importCompiled(PARTS);
const { FRAGMENTS } = /** @type {Fragments} */ (parts);
for (const { needs, defines, lua, given } of FRAGMENTS) {
  const found = namesIn(lua);
  const mayNeed = namesIn(given).needs.filter((name) => !found.defines.includes(name));
  const declared = needs.split(' ');
  const own = found.needs.filter((name) => declared.includes(name) || !mayNeed.includes(name));
  if (own.join(' ') !== needs)
    fail(`A fragment needs "${own.join(' ')}", and not "${needs}":${lua}`);
  const named = found.defines.join(' ');
  if (named !== defines) fail(`A fragment defines "${named}", and not "${defines}":${lua}`);
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
