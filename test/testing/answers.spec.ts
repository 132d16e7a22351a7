import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { LockStateError } from 'nestjs-redis-lock';
import { systemClock } from '../../libs/redis-lock/src/core/clock.js';
import { defineScript } from '../../libs/redis-lock/src/core/script.js';
import {
  ANSWERS,
  InProcessConnection,
} from '../../libs/redis-lock/src/testing/in-process-connection.js';
import { InProcessServer } from '../../libs/redis-lock/src/testing/in-process-server.js';

const SOURCES = new URL('../../libs/redis-lock/src/', import.meta.url);

/** Every script that a file of the library exports. */
async function scripts(): Promise<[where: string, script: unknown][]> {
  const files = ['core', 'primitives'].flatMap((room) =>
    readdirSync(new URL(room, SOURCES), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.spec)\.ts$/.test(file))
      .map((file) => `${room}/${file}`),
  );
  const modules = await Promise.all(
    files.map(async (file) => {
      const exported = (await import(new URL(file, SOURCES).pathname)) as Record<string, unknown>;
      return Object.entries(exported).map(([name, value]) => [`${file}: ${name}`, value] as const);
    }),
  );
  const isScript = (value: unknown) => value instanceof Object && 'lua' in value && 'sha1' in value;
  return modules.flat().flatMap(([where, value]) => (isScript(value) ? [[where, value]] : []));
}

describe('the server of nestjs-redis-lock/testing', () => {
  it('answers every script of the library', async () => {
    const all = await scripts();
    expect(all.length).toBeGreaterThan(40);
    expect(all.filter(([, script]) => !ANSWERS.has(script)).map(([where]) => where)).toEqual([]);
  });

  it('says so if it cannot answer one', async () => {
    const connection = new InProcessConnection(new InProcessServer(systemClock));
    const script = defineScript({ name: 'x.y', keys: [], args: [], body: '', reply: () => 1 });
    await expect(connection.run(script, [], [])).rejects.toThrow(
      new LockStateError('Without Redis nobody answers the script x.y'),
    );
  });
});
