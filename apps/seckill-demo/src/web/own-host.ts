import type { IncomingMessage, ServerResponse } from 'node:http';

const OWN = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/** Another site can lead a browser here under its own host name. Such requests get no answer. */
export function ownHostOnly(
  { headers }: IncomingMessage,
  response: ServerResponse,
  next: () => void,
): void {
  if (OWN.test(headers.host ?? '')) {
    next();
    return;
  }
  response.writeHead(403, { 'content-type': 'text/plain' }).end('open 127.0.0.1 instead\n');
}
