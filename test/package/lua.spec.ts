import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { findingsIn } from '../../scripts/library/lua-check.mjs';
import { differences, settle } from '../../scripts/library/lua-files.mjs';
import { declaredScripts } from '../../scripts/library/scripts.mjs';

const said = (lua: string) => findingsIn(lua).map(({ line, says }) => `${String(line)}: ${says}`);

describe('the check of the Lua scripts', () => {
  it.each([
    ['a global that nothing declares', `local a = 1\nreturn a + b`, '2: nothing declares b'],
    ['a function of no sandbox', `return dofile(KEYS[1])`, '1: nothing declares dofile'],
    [
      'a local beyond its block',
      `do local a = 1; redis.log(a) end\nreturn a`,
      '2: nothing declares a',
    ],
    ['a local before its declaration', `local a = a\nreturn a`, '1: nothing declares a'],
    ['a local in its own bounds', `for i = 1, i do redis.log(i) end`, '1: nothing declares i'],
    ['a set global', `count = 1`, '1: count is set as a global'],
    ['a set global of Redis', `KEYS = {}`, '1: KEYS is set as a global'],
    ['a global function', `function count() end`, '1: count is set as a global'],
    ['an unused local', `local a, b = 1, 2\nreturn a`, '1: the local b is never read'],
    ['a local that is only set', `local a\na = 1`, '1: the local a is never read'],
    ['an unused function', `local function f() end`, '1: the local f is never read'],
    ['an unused parameter', `return pcall(function(a) end)`, '1: the local a is never read'],
    ['an unused loop variable', `for i = 1, 2 do redis.log() end`, '1: the local i is never read'],
    [
      'an unused variable of pairs',
      `for _, v in ipairs(KEYS) do redis.log() end`,
      '1: the local v is never read',
    ],
    [
      'a local that another of its name hides',
      `local a = 1\nlocal a = 2\nreturn a`,
      '1: the local a is never read',
    ],
    ['what is no Lua', `local a = 1\nif a then return a`, `2: [2:18] 'end' expected near '<eof>'`],
  ])('finds %s', (_, lua, finding) => {
    expect(said(lua)).toEqual([finding]);
  });

  it('has nothing to say of names that are declared and read', () => {
    const lua = `
local count, table1 = #KEYS, { field = 1, [ARGV[1]] = 2, 3 }
local function sum(a, ...)
  if a == 0 then return select('#', ...) end
  return a + sum(a - 1, ...)
end
repeat local isDone = count > 1 until isDone
for i, _ in ipairs(KEYS) do table1.other, table1[i] = i, sum(i) end
local later
local function call() return later end
later = count
while later < 1 do later = later + 1 end
local count = count + 1
return { call(), count, redis.call 'ping', unpack { table1 } }`;
    expect(said(lua)).toEqual([]);
  });
});

describe('the files of the Lua scripts', () => {
  let folder: string;
  const due = new Map([
    ['a.lua', 'return 1'],
    ['b.lua', 'return 2'],
    ['c.lua', 'return 3'],
  ]);

  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'lua-')), 'lua');
  });
  afterEach(() => {
    rmSync(join(folder, '..'), { recursive: true });
  });

  it('are found missing, different and superfluous, and then put right', () => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'a.lua'), 'return 1');
    writeFileSync(join(folder, 'b.lua'), 'return 2\n');
    writeFileSync(join(folder, 'z.lua'), 'return 4');
    const found = [
      { file: 'b.lua', is: 'different' },
      { file: 'c.lua', is: 'missing' },
      { file: 'z.lua', is: 'superfluous' },
    ];
    expect(differences(folder, due)).toEqual(found);
    expect(settle(folder, due)).toEqual(found);
    expect(differences(folder, due)).toEqual([]);
    const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
    expect(texts).toEqual([...due.values()]);
  });

  it('are all missing where there is no folder', () => {
    expect(differences(folder, due).map(({ is }) => is)).toEqual(Array(3).fill('missing'));
    settle(folder, due);
    expect(differences(folder, due)).toEqual([]);
  });

  it('are plain text, in each form: no value of a user is ever part of them', async () => {
    const scripts = await declaredScripts(({ pathname }) => import(pathname));
    expect(scripts.length).toBeGreaterThan(50);
    for (const script of scripts as unknown as Script<string, string, unknown>[]) {
      for (const { lua, sha1 } of [script, ...Object.values(script.inMode).map((text) => text())]) {
        expect([script.name, sha1]).toEqual([script.name, expect.stringMatching(/^[0-9a-f]{40}$/)]);
        expect(lua).not.toMatch(/undefined|\[object|NaN/);
      }
    }
  });

  it('want each script exported, under a name of its own', async () => {
    await expect(declaredScripts(async () => ({}))).rejects.toThrow('must export each script');
    const script = { name: 'x', lua: '', sha1: '' };
    const many = Array.from({ length: 20 }, () => script);
    await expect(declaredScripts(async () => many)).rejects.toThrow('Two scripts have the name x');
  });
});
