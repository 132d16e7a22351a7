import { afterEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { startPostgresServer, type PostgresServer } from '../../scripts/postgres-server.mjs';
import { isAlive } from './child.js';
import { eventually } from './eventually.js';

describe('startPostgresServer', () => {
  const servers: PostgresServer[] = [];
  const start = async () => {
    const server = await startPostgresServer();
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop()));
  });

  async function ask(url: string, question: string): Promise<unknown> {
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    try {
      const { rows } = await client.query<Record<string, unknown>>(question);
      return rows[0]?.['answer'];
    } finally {
      await client.end();
    }
  }
  const folderOf = async ({ url }: PostgresServer) =>
    String(await ask(url, "SELECT current_setting('data_directory') AS answer"));

  it('answers with an empty database, and keeps nothing safe on disk', async () => {
    const { url } = await start();
    const tables = "SELECT count(*)::int AS answer FROM pg_tables WHERE schemaname = 'public'";
    expect(await ask(url, tables)).toBe(0);
    expect(await ask(url, "SELECT current_setting('fsync') AS answer")).toBe('off');
  });

  it('lets no client in without the password', async () => {
    const { url } = await start();
    const guess = url.replace(/:\w+@/, ':guess@');
    await expect(ask(guess, 'SELECT 1 AS answer')).rejects.toThrow(/password authentication/);
  });

  it('gives each of several servers a port and data of its own', async () => {
    const started = await Promise.all([start(), start(), start()]);
    expect(new Set(started.map(({ port }) => port)).size).toBe(3);
    expect(new Set(await Promise.all(started.map(folderOf))).size).toBe(3);
  });

  it.each(['stop', 'kill'] as const)(
    'leaves neither process nor folder behind after a %s, even while a client is connected',
    async (end) => {
      const server = await start();
      const folder = await folderOf(server);
      const client = new pg.Client(server.url);
      const isCutOff = new Promise((resolve) => client.on('error', resolve));
      await client.connect();
      await client.query('BEGIN');
      await server[end]();
      expect([isAlive(server.pid), existsSync(folder)]).toEqual([false, false]);
      await isCutOff;
    },
  );

  it.each([
    ['exits', 'process.exit(0)'],
    ['is killed', "process.kill(process.pid, 'SIGKILL')"],
  ])('leaves neither process nor folder behind when its starter %s', async (_, ending) => {
    const helper = new URL('../../scripts/postgres-server.mjs', import.meta.url).href;
    const program = `
      const { startPostgresServer } = await import(${JSON.stringify(helper)});
      const { pid, url } = await startPostgresServer();
      process.stdout.write(JSON.stringify({ pid, url }) + '\\n');
      process.stdin.once('data', () => { ${ending} });`;
    const starter = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(starter.stdout), 'line')) as [string];
    const server = JSON.parse(line) as PostgresServer;
    const folder = await folderOf(server);
    expect([isAlive(server.pid), existsSync(folder)]).toEqual([true, true]);
    starter.stdin.write('end\n');
    await eventually(() => {
      expect([isAlive(server.pid), existsSync(folder)]).toEqual([false, false]);
    });
  });
});
