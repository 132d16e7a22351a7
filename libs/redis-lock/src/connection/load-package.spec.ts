import { beforeEach, describe, expect, it, jest } from '@jest/globals';

const installed = new Map<string, () => unknown>();

/** Yarn's Plug'n'Play has other words than Node. */
function find(name: string): () => unknown {
  const load = installed.get(name);
  if (load !== undefined) return load;
  const message = `nestjs-redis-lock tried to access ${name} (a peer dependency)`;
  throw Object.assign(new Error(message), { code: 'MODULE_NOT_FOUND' });
}

jest.unstable_mockModule('node:module', () => {
  const load = Object.assign((name: string) => find(name)(), { resolve: find });
  return { createRequire: () => load };
});
const { installedOf } = await import('./load-package.js');
const { installedPackage, packageOf } = await import('../ioredis/packages.js');

describe('the packages of an application', () => {
  class Redis extends Object {}

  beforeEach(() => {
    installed.clear();
    installed.set('iovalkey', () => ({ Redis }));
  });

  it('are found behind a missing one, in the words of any loader', () => {
    expect([...installedOf(['ioredis', 'iovalkey'])]).toEqual([{ Redis }]);
  });

  it('are not found behind one that lacks a package of its own', () => {
    installed.set('ioredis', () => find('debug')());
    expect(() => [...installedOf(['ioredis', 'iovalkey'])]).toThrow('debug');
  });

  it('are not those of ioredis 4, which another package may bring', () => {
    installed.set('ioredis', () => Object);
    expect(installedPackage().Redis).toBe(Redis);
    expect(packageOf(new Redis())?.Redis).toBe(Redis);
  });
});
