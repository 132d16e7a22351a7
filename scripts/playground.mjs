import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { compiled, write } from './compile.mjs';

const SOURCES = new URL('../apps/seckill-demo/src/playground/', import.meta.url);
const ENGINE = compiled(new URL('engine.ts', SOURCES));
const STAND_INS = compiled(new URL('stand-ins.ts', SOURCES));
/** The playground's engine for browsers, once `bundlePlayground` has run. */
export const BUNDLE = compiled(new URL('bundle.js', SOURCES));
/** A change of any other file changes no line of the bundle. */
const PARTS = ['apps/seckill-demo/src/playground', 'libs/redis-lock/src', 'libs/world/src'];

/** @type {import('rollup').Plugin} Stand-ins take the place of Node's modules and globals. */
const withoutNode = {
  name: 'without-node',
  resolveId: (name) => (name.startsWith('node:') ? STAND_INS : null),
  transform(code, file) {
    if (file === STAND_INS || !/\b(Buffer|process)\./.test(code)) return null;
    return `import { Buffer, process } from 'node:globals';\n${code}`;
  },
};

/** Bundles the compiled engine, unless that was done since the last change. */
export async function bundlePlayground() {
  const mark = `// ${await fingerprint()}\n`;
  const known = await readFile(BUNDLE, 'utf8').catch(() => '');
  if (known.startsWith(mark)) return;
  const { rollup } = await import('rollup');
  const bundle = await rollup({ input: ENGINE, plugins: [withoutNode] });
  const { output } = await bundle.generate({ format: 'es' });
  await bundle.close();
  await write(BUNDLE, `${mark}${output[0].code}`);
}

/** A compiled file is as old as its source. */
async function fingerprint() {
  const hash = createHash('sha1').update(await readFile(fileURLToPath(import.meta.url)));
  for (const part of PARTS) {
    const folder = new URL(`../${part}/`, import.meta.url);
    const names = await readdir(folder, { recursive: true });
    for (const name of names.filter((one) => one.endsWith('.ts')).sort()) {
      const { mtimeMs, size } = await stat(new URL(name.split('\\').join('/'), folder));
      hash.update(`${name} ${mtimeMs} ${size}\n`);
    }
  }
  return hash.digest('hex');
}
