import { beforeEach, describe, expect, it, jest } from '@jest/globals';

const installed = new Map<string, () => unknown>();
const places = new Set<string>();

/** Yarn's Plug'n'Play has other words than Node. */
function find(name: string): () => unknown {
  const load = installed.get(name);
  if (load !== undefined) return load;
  const message = `nestjs-redis-lock tried to access ${name} (a peer dependency)`;
  throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' });
}

jest.unstable_mockModule('node:module', () => {
  const load = Object.assign((name: string) => find(name)(), { resolve: find });
  return { createRequire: (place: string) => (places.add(place), load) };
});
const ioredis = await import('../ioredis/packages.js');
const nodeRedis = await import('../node-redis/packages.js');

describe('the packages of an application', () => {
  const iovalkey = { Redis: class extends Object {} };

  beforeEach(() => {
    installed.clear();
    installed.set('iovalkey', () => iovalkey);
  });

  it('are found behind a missing one, in the words of any loader', () => {
    expect(ioredis.installedPackage()).toBe(iovalkey);
    expect(nodeRedis.isInstalled()).toBe(false);
  });

  it('are looked for beside the program, which may run elsewhere', () => {
    expect(nodeRedis.isInstalled()).toBe(false);
    expect([...places]).toContain(process.argv[1]);
  });

  it('are not found behind one that lacks a package of its own', () => {
    installed.set('ioredis', () => find('debug')());
    expect(ioredis.installedPackage).toThrow('debug');
  });

  it('are not those of ioredis 4 and node-redis 4, which another package may bring', () => {
    installed.set('ioredis', () => Object);
    installed.set('redis', () => ({ createClient: Object }));
    expect(ioredis.packageOf(new iovalkey.Redis())).toBe(iovalkey);
    expect(nodeRedis.installedPackage).toThrow('node-redis 5.12 or newer, which is not installed');
  });
});
