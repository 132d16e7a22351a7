import { execFileSync } from 'node:child_process';

const ASK = `
const [port, key] = process.argv.slice(1);
const client = require('node:net').connect(Number(port), '127.0.0.1', () => {
  client.write('PTTL ' + key + '\\r\\n');
});
client.once('data', (reply) => {
  process.stdout.write(String(reply).slice(1));
  client.destroy();
});`;

/** The TTL of a key (ms), as another process sees it while the event loop of this one is blocked. */
export function pttlMeanwhile({ port }: { readonly port: number }, key: string): number {
  return Number(execFileSync(process.execPath, ['-e', ASK, String(port), key]));
}
