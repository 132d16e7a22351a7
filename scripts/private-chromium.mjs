// Node built-ins only: setup runs it with nothing but test/web's packages installed.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import { copyFolder, makeCopy } from './private-copy.mjs';
import { sfntOf } from './sfnt.mjs';

const PACKAGES = fileURLToPath(new URL('../test/web/node_modules/', import.meta.url));
const LOCK = join(PACKAGES, '..', 'package-lock.json');
const CHROMIUM = join(PACKAGES, '@sparticuz', 'chromium');
/** Chinese and Latin are files of their own in the first; the last two have signs such as ✓ and ≈. */
const FONTS = [
  ...bothWeights('noto-sans-sc-chinese-simplified', 'noto-sans-sc-latin', 'noto-sans-mono-latin'),
  ...['noto-sans-symbols-2-symbols-400', 'noto-sans-math-latin-400'],
];

/** The packed Chromium is for this system only. */
export const hasPrivateChromium = process.platform === 'linux' && process.arch === 'x64';

/**
 * The private Chromium, with its libraries and the fonts that it draws with. It needs nothing that
 * a bare system lacks, and the pages look the same everywhere.
 * @returns {{ command: string, env: Record<string, string> } | null}
 */
export function findPrivateChromium() {
  if (!existsSync(CHROMIUM)) return null;
  const folder = folderOf();
  const command = join(folder, 'chromium');
  if (!existsSync(command)) return null;
  return {
    command,
    env: {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: fileURLToPath(new URL('../test/web/fonts.conf', import.meta.url)),
      XDG_DATA_HOME: folder,
      // The prefix xdg means these folders, too: by default the system's.
      XDG_DATA_DIRS: folder,
      XDG_CACHE_HOME: folder,
    },
  };
}

/** Unpacks it out of test/web's packages into .cache. */
export async function makePrivateChromium() {
  await makeCopy(
    folderOf(),
    async (root, work) => {
      await mkdir(join(root, 'fonts'), { recursive: true });
      await Promise.all([unpackProgram(root), unpackLibraries(root, work), ...unpackFonts(root)]);
      await promisify(execFile)(join(root, 'chromium'), ['--version'], {
        env: { ...process.env, LD_LIBRARY_PATH: join(root, 'lib') },
      });
    },
    () => Promise.resolve(findPrivateChromium() !== null),
  );
}

/** Another one for each set of packages and fonts. */
function folderOf() {
  const made = createHash('sha1').update(readFileSync(LOCK)).update(FONTS.join());
  return copyFolder('chromium', made.digest('hex').slice(0, 8));
}

/** @param {string} root */
async function unpackProgram(root) {
  await pipeline(
    createReadStream(join(CHROMIUM, 'bin', 'chromium.br')),
    createBrotliDecompress(),
    createWriteStream(join(root, 'chromium'), { mode: 0o755 }),
  );
}

/**
 * @param {string} root
 * @param {string} work
 */
async function unpackLibraries(root, work) {
  const archive = join(work, 'lib.tar');
  await pipeline(
    createReadStream(join(CHROMIUM, 'bin', 'al2023.tar.br')),
    createBrotliDecompress(),
    createWriteStream(archive),
  );
  await promisify(execFile)('tar', ['-xf', archive, '-C', root]);
}

/** @param {string} root */
function unpackFonts(root) {
  return FONTS.map(async (font) => {
    const family = font.replace(/-(chinese-simplified|latin|symbols)-\d+$/, '');
    const woff = join(PACKAGES, '@fontsource', family, 'files', `${font}-normal.woff`);
    await writeFile(join(root, 'fonts', `${font}.ttf`), sfntOf(await readFile(woff)));
  });
}

/** @param {string[]} fonts */
function bothWeights(...fonts) {
  return fonts.flatMap((font) => [`${font}-400`, `${font}-700`]);
}
