import { afterAll, afterEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockBackendError } from 'nestjs-redis-lock/core';
import { freePort, startRedisServer } from '../../scripts/redis-server.mjs';
import { useApplications } from '../nest/applications.js';
import { Authority, type Certificate } from '../support/certificates.js';
import { describeUnless } from '../support/server-facts.js';
import { eventually, Stopwatch, useRealRedis } from '../support/set-up.js';
import { takesAndHandsOver } from './hand-over.js';

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const [authority, stranger] = [new Authority('of the shop'), new Authority('of a stranger')];
const ca = authority.cert;
const CERTIFICATES = {
  good: authority.issue(),
  expired: authority.issue({ notAfter: new Date(Date.now() - 60_000) }),
  'of another host': authority.issue({ ip: '127.0.0.2' }),
  'of another authority': stranger.issue(),
} as const satisfies Record<string, Certificate>;

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
const files = Object.fromEntries(
  Object.entries(CERTIFICATES).map(([name, { cert, key }]) => [
    name,
    [file(`${name}.crt`, cert), file(`${name}.key`, key)],
  ]),
);
const [cert = '', key = ''] = files.good ?? [];
const port = await freePort();

const args = [
  ...['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key],
  ...['--tls-ca-cert-file', file('ca.crt', ca), '--tls-auth-clients', 'no'],
];
/** A server that was built without TLS does not start here, and says so. */
const isBuiltWithTls = await startRedisServer({ args }).then(
  async (server) => {
    await server.stop();
    return true;
  },
  (error: unknown) => {
    if (!/tls/i.test(String(error))) throw error;
    return false;
  },
);
const redis = useRealRedis({ args: isBuiltWithTls ? args : [] });
const clients: Redis[] = [];
// Declared before the applications, and so run when they are closed.
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect();
  if (!isBuiltWithTls) return;
  await show('good');
  await redis.admin.config('SET', 'tls-auth-clients', 'no');
});
const apps = useApplications(redis);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function show(certificate: keyof typeof CERTIFICATES): Promise<void> {
  const [crt = '', of = ''] = files[certificate] ?? [];
  await redis.admin.config('SET', 'tls-cert-file', crt, 'tls-key-file', of);
}

const host = '127.0.0.1';
/** By default, a client that never connected keeps its process alive for 2 s when it ends. */
const server = { host, port, disconnectTimeout: 50 };

const describeWithTls = describeUnless(!isBuiltWithTls, 'the server is built without TLS');

describeWithTls('Redis by TLS, with a certificate of an own authority', () => {
  it.each<[string, () => object]>([
    ['options', () => ({ ...server, tls: { ca } })],
    [
      'a client made of a rediss:// url',
      () => {
        const client = new Redis(`rediss://${host}:${String(port)}`, { tls: { ca } });
        clients.push(client);
        return client;
      },
    ],
  ])('works by %s, messages included', async (_, connection) => {
    await takesAndHandsOver(redis, (options) =>
      apps.start({}, { ...options, connection: connection() }),
    );
    for (const client of clients) expect(await client.ping()).toBe('PONG');
  });

  it('shows its own certificate where Redis asks for one', async () => {
    await redis.admin.config('SET', 'tls-auth-clients', 'yes');
    const { cert, key } = authority.issue();
    const connection = { host, port, tls: { ca, cert, key } };
    await takesAndHandsOver(redis, (options) => apps.start({}, { ...options, connection }));
  });

  it.each<[string, keyof typeof CERTIFICATES, object, RegExp]>([
    ['without the authority', 'good', { tls: {} }, /self.signed|unable to verify/],
    ['with another authority', 'good', { tls: { ca: stranger.cert } }, /self.signed|unable to/],
    ['with a certificate', 'expired', { tls: { ca } }, /certificate has expired/],
    ['with a certificate', 'of another host', { tls: { ca } }, /127\.0\.0\.1 is not in the cert/],
    ['with a certificate', 'of another authority', { tls: { ca } }, /self.signed|unable to verify/],
  ])('gives up at once %s: %s', async (_, certificate, options, reason) => {
    await show(certificate);
    const connection = { ...server, password: 's3cret', ...options };
    const sent = await redis.commandsDuring(async () => {
      const app = await apps.start({}, { connection });
      const stopwatch = new Stopwatch();
      const error = await app.locks.acquire('a', { waitTimeMs: 60_000 }).catch((e: unknown) => e);
      expect(stopwatch.ms).toBeLessThan(5_000);
      expect(error).toBeInstanceOf(LockBackendError);
      expect(error).toMatchObject({ retryable: false, outcome: 'none' });
      expect((error as Error).message).toContain('its TLS certificate is not trusted (');
      expect((error as Error).message).toMatch(reason);
    });
    // Not even by plain text: the password has not left.
    expect(sent).toEqual({});
  });

  it.each([
    [
      'plain text to a port with TLS',
      () => ({ ...server, password: 's3cret' }),
      /one side uses TLS/,
    ],
    [
      'TLS to a port without',
      () => ({ ...server, port: redis.port, tls: { ca }, connectTimeout: 100 }),
      /one side uses TLS/,
    ],
    ['no certificate of its own', () => ({ ...server, tls: { ca } }), /no connection to Redis/],
  ])('never falls back: %s', async (what, connection, reason) => {
    await redis.admin.config('SET', 'tls-auth-clients', what.startsWith('no') ? 'yes' : 'no');
    const app = await apps.start({}, { connection: connection() });
    const ask = () => app.locks.acquire('a', { waitTimeMs: 300 }).catch((e: unknown) => e);
    const error = await ask();
    expect(error).toBeInstanceOf(LockBackendError);
    expect((error as LockBackendError).outcome).toBe('none');
    expect(await redis.admin.dbsize()).toBe(0);
    await eventually(async () => expect(String(await ask())).toMatch(reason));
  });
});
