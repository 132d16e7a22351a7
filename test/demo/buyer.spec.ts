import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { stateOf } from '../../apps/seckill-demo/src/arena/buyer.js';

describe('a connection that is not served', () => {
  let silent: Server;
  beforeEach(async () => {
    silent = createServer((socket) => socket.resume().on('error', () => undefined));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(() => {
    silent.close();
  });

  it('is given up by those who look at a product', async () => {
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await expect(stateOf(url, '1', 50)).rejects.toThrow('no answer in time');
  });
});
