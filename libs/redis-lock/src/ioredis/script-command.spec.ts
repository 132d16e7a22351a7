import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as ioredis from 'ioredis';
import { Redis, type Command } from 'ioredis';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { useRealRedis } from '../../../../test/support/redis-server.js';
import { ScriptCommand, sendsScriptCommands } from './script-command.js';

type Outcome = { readonly raw: unknown } | { readonly error: unknown };

describe('ScriptCommand', () => {
  const redis = useRealRedis();
  let client: Redis;
  let sha1: string;
  beforeEach(async () => {
    client = new Redis(redis.url);
    expect(sendsScriptCommands(client, ioredis)).toBe(true);
    sha1 = (await client.script(
      'LOAD',
      'return {KEYS[1], ARGV[1], {tonumber(ARGV[2])}}',
    )) as string;
  });
  afterEach(() => {
    client.disconnect();
  });

  const run = (args: readonly (string | number)[], look = (_: ScriptCommand<undefined>) => {}) =>
    new Promise<Outcome>((resolve) => {
      const command = new ScriptCommand(args, undefined, {
        answered: (_, raw) => resolve({ raw }),
        failed: (_, error) => resolve({ error }),
      });
      void client.sendCommand(command as unknown as Command);
      look(command);
    });

  it('sends keys and arguments as they are, and reads texts', async () => {
    expect(await run([sha1, 1, '产品\r\n$1', '', 7])).toEqual({ raw: ['产品\r\n$1', '', [7]] });
  });

  it('hears the error of Redis, which names the command', async () => {
    const { error } = (await run(['0'.repeat(40), 0])) as { error: Error };
    expect(error.message).toMatch(/^NOSCRIPT/);
    expect(error).toMatchObject({ command: { name: 'evalsha', args: ['0'.repeat(40), 0] } });
  });

  it('hears that the client is closed', async () => {
    client.disconnect();
    expect(await run([sha1, 0])).toMatchObject({ error: { message: 'Connection is closed.' } });
  });

  // As OpenTelemetry does.
  it('is heard by a tool that replaces its outcomes', async () => {
    const heard: unknown[] = [];
    const outcome = await run([sha1, 1, 'a', 'b', 7], (command) => {
      const { resolve } = command;
      command.resolve = (raw) => {
        heard.push(raw);
        resolve(raw);
      };
    });
    expect(outcome).toEqual({ raw: ['a', 'b', [7]] });
    expect(heard).toHaveLength(1);
  });

  // As Datadog and Elastic do.
  it('is a promise for a tool that waits for it', async () => {
    const waited: PromiseLike<unknown>[] = [];
    const look = ({ promise }: ScriptCommand<undefined>) => waited.push(promise.then((raw) => raw));
    await run([sha1, 1, 'a', 'b', 7], look);
    expect(await waited[0]).toEqual(['a', 'b', [7]]);
    await run(['0'.repeat(40), 0], look);
    await expect(waited[1]).rejects.toThrow('NOSCRIPT');
    client.disconnect();
    await run([sha1, 0], look);
    await expect(waited[2]).rejects.toThrow('Connection is closed.');
  });

  it("is told on ioredis' own tracing channel as its other commands are", async () => {
    const told: unknown[] = [];
    const listener = (message: unknown) => {
      told.push((message as { readonly command: string }).command);
    };
    const start = 'tracing:ioredis:command:start';
    subscribe(start, listener);
    await client.ping();
    // The oldest ioredis has no such channel.
    const isTracing = told.length > 0;
    await run([sha1, 1, 'a', 'b', 7]);
    unsubscribe(start, listener);
    await run([sha1, 1, 'a', 'b', 7]);
    expect(told).toEqual(isTracing ? ['ping', 'evalsha'] : []);
  });

  it('is not sent by a client whose evalsha is not that of ioredis', () => {
    class Audited extends Redis {
      override evalsha = (() => Promise.resolve('audited')) as unknown as Redis['evalsha'];
    }
    class Traced extends Redis {}
    Traced.prototype.evalsha = () => Promise.resolve('traced');
    const clients = [Audited, Traced].map((Client) => new Client({ lazyConnect: true }));
    for (const one of clients) {
      expect(sendsScriptCommands(one, ioredis)).toBe(false);
      one.disconnect();
    }
  });

  it.each<[object, boolean]>([
    [{}, true],
    [{ commandTimeout: 500 }, false],
    [{ enableAutoPipelining: true }, false],
  ])('of a client with %p: %p', (options, isSent) => {
    const other = new Redis({ lazyConnect: true, ...options });
    expect(sendsScriptCommands(other, ioredis)).toBe(isSent);
    other.disconnect();
  });
});
