import net from 'node:net';
import { afterLatency } from '../virtual-time.js';
import { InProcessSocket, type Listener, type Wire } from './socket.js';

interface Network {
  readonly listeners: Map<number, Listener>;
  readonly connect: typeof net.createConnection;
  lastPort: number;
}

/** No system gives out such low ports, and specs take those below for where no server is. */
const FIRST_PORT = 100;

/** Jest gives each spec file its own modules, but one `net`. */
const shared: { networkOfSpecs?: Network } = net as object;
const network = (shared.networkOfSpecs ??= {
  listeners: new Map(),
  connect: net.createConnection,
  lastPort: FIRST_PORT - 1,
});

/** From now on the clients of this process reach the listener at the port. */
export function listen(listener: Listener, port = (network.lastPort += 1)): number {
  network.listeners.set(port, listener);
  Object.assign(net, { createConnection: connect, connect });
  return port;
}

/** The port refuses connections. */
export function stopListening(port: number): void {
  network.listeners.delete(port);
}

/** Every other port is one of a real server. */
function connect(...args: Parameters<typeof net.createConnection>): net.Socket {
  const [{ port }] = args as unknown as [{ port?: number | string }];
  const isOurs = Number(port) >= FIRST_PORT && Number(port) <= network.lastPort;
  if (!isOurs) return network.connect(...args);
  const reach = () => network.listeners.get(Number(port));
  return new InProcessSocket(Number(port), reach, AFTER_LATENCY) as unknown as net.Socket;
}

const AFTER_LATENCY: Wire = {
  ...{ there: afterLatency, back: afterLatency },
  end: (noticed) => {
    noticed();
  },
};
