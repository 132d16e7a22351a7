import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { optionTexts } from '../../apps/seckill-demo/src/options/help.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NEEDED = ['apps', 'package-lock.json', 'package.json', 'scripts'];

describe('npm run demo in a fresh clone', () => {
  let clone = '';
  beforeAll(async () => {
    clone = await mkdtemp(join(tmpdir(), 'fresh-clone-'));
    for (const name of NEEDED) await cp(join(ROOT, name), join(clone, name), { recursive: true });
  });
  afterAll(() => rm(clone, { recursive: true, force: true }));

  function demo(...args: string[]) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(clone, 'scripts', 'demo.mjs'), ...args],
      { cwd: clone, encoding: 'utf8', env: { ...process.env, LC_ALL: 'C', NODE_OPTIONS: '' } },
    );
    return { status, stdout, stderr };
  }

  it.each(['en', 'zh'] as const)('gives help before it installs anything: %s', async (language) => {
    const stdout = `${optionTexts[language].help}\n`;
    expect(demo('--help', '--lang', language)).toEqual({ status: 0, stdout, stderr: '' });
    expect((await readdir(clone)).sort()).toEqual(NEEDED);
  });

  it('refuses a wrong option before it installs anything', async () => {
    const stderr = 'unknown option --stok; --help lists the options\n';
    expect(demo('--stok', '5')).toEqual({ status: 2, stdout: '', stderr });
    expect((await readdir(clone)).sort()).toEqual(NEEDED);
  });
});
