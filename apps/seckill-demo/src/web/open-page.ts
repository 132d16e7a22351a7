import { randomBytes } from 'node:crypto';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { freePort } from '../arena/free-port.js';
import { ownHostOnly } from './own-host.js';
import { pageFiles } from './page-files.js';
import { WebModule } from './web.module.js';
import type { WebOptions } from './web.module.js';

/** The page while the demo serves it. */
export interface Page {
  /** With the token. */
  readonly url: string;
  close(): Promise<void>;
}

type Options = Omit<WebOptions, 'token'> & {
  /** The port to use if it is free; 0: any. */
  readonly port: number;
  /** The folder of the compiled modules, if this module is not compiled itself. */
  readonly modules?: string;
};

export async function openPage({ port, modules, ...options }: Options): Promise<Page> {
  const token = randomBytes(16).toString('base64url');
  const app = await NestFactory.create<NestExpressApplication>(
    WebModule.register({ ...options, token }),
    { logger: ['error', 'warn'], forceCloseConnections: true },
  );
  app.use(ownHostOnly);
  app.use(serving(await pageFiles(modules)));
  await app.listen(await freePort(port), '127.0.0.1');
  return { url: `${await app.getUrl()}/?token=${token}`, close: () => app.close() };
}

interface Asked {
  readonly path: string;
}
interface Answer {
  sendFile(file: string, options: object): void;
}

function serving(files: ReadonlyMap<string, string>) {
  return ({ path }: Asked, response: Answer, next: () => void): void => {
    const file = files.get(`.${path}`);
    // The folder of the project may begin with a dot.
    if (file !== undefined) response.sendFile(file, { dotfiles: 'allow', maxAge: 0 });
    else next();
  };
}
