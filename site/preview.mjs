// Shows the built site on a free port of this machine, until Ctrl-C.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { serverOf } from './serve.mjs';
import { BASE } from './settings.mjs';

const SITE = fileURLToPath(new URL('../dist/site', import.meta.url));

if (existsSync(SITE)) show();
else {
  process.stderr.write('There is no site yet: "npm run docs" builds it.\n');
  process.exitCode = 1;
}

function show() {
  const server = serverOf(SITE, BASE).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address === 'string') return;
    console.log(`http://127.0.0.1:${address.port}${BASE}`);
  });
}
