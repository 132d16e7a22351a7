// Makes libs/redis-lock ready to pack: ES modules, CommonJS, types for both, and what a reader needs.
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REPOSITORY } from '../../site/settings.mjs';
import { bundleModules, bundleTypes } from './bundle.mjs';
import { PAGES, packedPage } from './pages.mjs';
import { CONFIG, DIST, LIBRARY, TYPES } from './surface.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

rmSync(DIST, { recursive: true, force: true });
const checked = writeTypes();
const values = await bundleModules();
write(join(DIST, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
copyPages();
process.exitCode = await checked;
if (process.exitCode === 0) await bundleTypes(values);
rmSync(process.exitCode === 0 ? TYPES : DIST, { recursive: true, force: true });

/**
 * Checks everything on the way.
 * @returns {Promise<number>} the compiler's exit code
 */
function writeTypes() {
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', CONFIG, '--emitDeclarationOnly'];
  const compiler = spawn(process.execPath, args, { stdio: 'inherit' });
  return new Promise((resolve) => {
    compiler.on('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

/** The READMEs, a page and the licence of the repository, which keeps them only once. */
function copyPages() {
  rmSync(join(LIBRARY, 'docs'), { recursive: true, force: true });
  for (const page of PAGES)
    write(
      join(LIBRARY, page),
      packedPage(page, readFileSync(join(ROOT, page), 'utf8'), REPOSITORY),
    );
  copyFileSync(join(ROOT, 'LICENSE'), join(LIBRARY, 'LICENSE'));
}

/**
 * @param {string} path
 * @param {string} text
 */
function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
