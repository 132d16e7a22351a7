import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { freePort } from '../arena/free-port.js';
import { PAGE_PACKAGES } from '../page/page-html.js';
import { ownHostOnly } from './own-host.js';
import { WebModule } from './web.module.js';
import type { WebOptions } from './web.module.js';

/** The page while it is served. */
export interface Page {
  /** With the token. */
  readonly url: string;
  close(): Promise<void>;
}

/** The folders whose modules the page imports. */
const PAGE_MODULES = ['page', 'arena', 'strategies', 'seckill', 'options'];
const SOURCES = fileURLToPath(new URL('..', import.meta.url));

export async function openPage({
  port,
  ...options
}: Omit<WebOptions, 'token'> & { readonly port: number }): Promise<Page> {
  const token = randomBytes(16).toString('base64url');
  const app = await NestFactory.create<NestExpressApplication>(
    WebModule.register({ ...options, token }),
    { logger: ['error', 'warn'], forceCloseConnections: true },
  );
  app.use(ownHostOnly);
  const fresh = {
    setHeaders: (response: { setHeader(name: string, value: string): void }) => {
      response.setHeader('cache-control', 'no-cache');
    },
  };
  for (const folder of PAGE_MODULES) {
    app.useStaticAssets(join(SOURCES, folder), { prefix: `/app/${folder}`, ...fresh });
  }
  for (const name of PAGE_PACKAGES) {
    app.useStaticAssets(folderOf(name), { prefix: `/modules/${name}`, ...fresh });
  }
  await app.listen(await freePort(port), '127.0.0.1');
  return { url: `${await app.getUrl()}/?token=${token}`, close: () => app.close() };
}

/** A package may keep its manifest to itself, but not the file that is imported by its name. */
function folderOf(name: string): string {
  const require = createRequire(import.meta.url);
  let folder = dirname(require.resolve(name));
  while (!folder.endsWith(join('node_modules', ...name.split('/')))) folder = dirname(folder);
  return folder;
}
