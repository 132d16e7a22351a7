import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { LockStateError } from 'nestjs-redis-lock';
import { systemClock } from '../../libs/redis-lock/src/core/time/clock.js';
import { defineScript } from '../../libs/redis-lock/src/core/redis/script.js';
import {
  ANSWERS,
  InProcessConnection,
} from '../../libs/redis-lock/src/testing/in-process-connection.js';
import { InProcessServer } from '../../libs/redis-lock/src/testing/in-process-server.js';

const SOURCES = new URL('../../libs/redis-lock/src/', import.meta.url);

interface FileOfScripts {
  readonly file: string;
  readonly declared: number;
  readonly exported: [name: string, script: unknown][];
}

/** Every file of the library that declares scripts, and what it exports of them. */
async function scripts(): Promise<FileOfScripts[]> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.spec)\.ts$/.test(file))
    .map((file) => {
      const text = readFileSync(new URL(file, SOURCES), 'utf8');
      return { file, declared: text.split('= defineScript({').length - 1 };
    });
  const isScript = (value: unknown) => value instanceof Object && 'lua' in value && 'sha1' in value;
  return Promise.all(
    files
      .filter(({ declared }) => declared > 0)
      .map(async ({ file, declared }) => {
        const module = (await import(new URL(file, SOURCES).pathname)) as Record<string, unknown>;
        const exported = Object.entries(module).filter(([, value]) => isScript(value));
        return { file, declared, exported };
      }),
  );
}

describe('the server of nestjs-redis-lock/testing', () => {
  it('answers every script of the library', async () => {
    const files = await scripts();
    const hidden = files.filter(({ declared, exported }) => exported.length !== declared);
    expect(hidden.map(({ file }) => file)).toEqual([]);
    const all = files.flatMap(({ exported }) => exported);
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter(([, script]) => !ANSWERS.has(script)).map(([name]) => name)).toEqual([]);
  });

  it('says so if it cannot answer one', async () => {
    const connection = new InProcessConnection(new InProcessServer(systemClock));
    const script = defineScript({ name: 'x.y', keys: [], args: [], body: '', reply: () => 1 });
    await expect(connection.run(script, [], [])).rejects.toThrow(
      new LockStateError('Without Redis nobody answers the script x.y'),
    );
  });
});
