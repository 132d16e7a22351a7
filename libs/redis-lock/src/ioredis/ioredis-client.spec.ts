import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../../../test/support/eventually.js';
import { IoredisNode } from './ioredis-node.js';

it('ends in a TLS handshake, whose socket may fail twice without an end of the process', async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => sockets.push(socket.resume()));
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const { port } = mute.address() as AddressInfo;
  const node = new IoredisNode(new Redis({ host: '127.0.0.1', port, tls: {}, lazyConnect: true }));
  node.on('failed', () => undefined);
  node.connect().catch(() => undefined);
  await eventually(() => expect(sockets).toHaveLength(1));
  const { stream } = node.inner;
  node.end();
  for (const problem of ['not trusted', 'alert']) stream.emit('error', new Error(problem));
  stream.destroy();
  await eventually(() => expect(sockets[0]?.closed).toBe(true));
  mute.close();
});
