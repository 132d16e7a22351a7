import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/** The preferred port of the loopback interface if it is free, otherwise another free port. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined) {
    const port = await tryPort(preferred);
    if (port !== undefined) return port;
  }
  const port = await tryPort(0);
  if (port === undefined) throw new Error('no free port on 127.0.0.1');
  return port;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => {
      resolve(undefined);
    });
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const { port: found } = probe.address() as AddressInfo;
      probe.close(() => {
        resolve(found);
      });
    });
  });
}
