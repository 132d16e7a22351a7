// The Lua scripts as Redis gets them: `npm run lua` writes them anew, for a review to show.
//   --check   fails if they are not what is committed
// Either way it fails if one of them uses or declares a name in vain.
import { join } from 'node:path';
import { argv } from 'node:process';
import { pathToFileURL } from 'node:url';
import { compile, compiled } from '../compile.mjs';
import { findingsIn } from './lua-check.mjs';
import { differences, settle } from './lua-files.mjs';
import { declaredScripts } from './scripts.mjs';
import { LIBRARY } from './surface.mjs';

const FOLDER = join(LIBRARY, 'lua');
const check = argv.includes('--check');

await compile();
const scripts = await declaredScripts((source) => import(pathToFileURL(compiled(source)).href));
scripts.sort((a, b) => (a.name < b.name ? -1 : 1));
const due = new Map(scripts.map(({ name, lua }) => [`${name}.lua`, lua]));

const differing = check ? differences(FOLDER, due) : settle(FOLDER, due);
const listed = differing.map(({ file, is }) => `lua/${file} (${is})`).join(', ');
if (check && listed) fail(`Not as reviewed: ${listed}. If that is meant: npm run lua`);
else if (listed) console.log(`Written anew: ${listed}`);

for (const [file, lua] of due)
  for (const { line, says } of findingsIn(lua)) fail(`lua/${file}:${line}: ${says}`);

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exitCode = 1;
}
