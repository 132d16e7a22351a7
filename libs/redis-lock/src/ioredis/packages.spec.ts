import { afterEach, describe, expect, it } from '@jest/globals';
import * as ioredis from 'ioredis';
import { IOREDIS_VERSIONS } from '../../../../test/support/ioredis-versions.js';
import { installedPackage, packageOf } from './packages.js';

describe('the packages that this library loads', () => {
  const clients: ioredis.Redis[] = [];
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  it('opens urls by ioredis, if both are installed', () => {
    expect(installedPackage().Redis).toBe(ioredis.Redis);
  });

  it.each(IOREDIS_VERSIONS)('knows the package of a client: %s', (name, { Redis }) => {
    const client = new Redis({ lazyConnect: true });
    clients.push(client);
    // Here, ioredis 5 is a copy that only the application loads.
    const expected = name === 'ioredis 5' ? undefined : Redis;
    expect(packageOf(client)?.Redis).toBe(expected);
  });
});
