import { afterAll, beforeAll } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pageHtml } from '../../apps/seckill-demo/src/page/page-html.js';
import { pageFiles } from '../../apps/seckill-demo/src/web/page-files.js';
import { compiled } from '../../scripts/compile.mjs';

const TYPES: Readonly<Record<string, string>> = { '.css': 'text/css', '.ndjson': 'text/plain' };
const SOURCES = compiled(new URL('../../apps/seckill-demo/src/page/main.ts', import.meta.url));

/** The page on a server that has nothing but files. */
export interface Site {
  readonly url: string;
  /** The requests, such as `GET /run.ndjson`. */
  readonly asked: readonly string[];
  /** A recorded run, by its name. */
  add(name: string, run: string): void;
}

export function useSite(): Site {
  const asked: string[] = [];
  const runs = new Map<string, string>();
  let files: ReadonlyMap<string, string>;

  const answer = async (path: string): Promise<string | Buffer | undefined> => {
    if (path === '/') return pageHtml();
    const file = files.get(`.${path}`);
    return runs.get(path.slice(1)) ?? (file === undefined ? undefined : readFile(file));
  };
  const server = createServer((request, response) => {
    const { method = '', url = '/' } = request;
    asked.push(`${method} ${url}`);
    const { pathname } = new URL(url, 'http://site');
    void answer(pathname).then((content) => {
      const type = pathname === '/' ? 'text/html' : (TYPES[extname(pathname)] ?? 'text/javascript');
      response.setHeader('content-type', `${type}; charset=utf-8`);
      response.writeHead(content === undefined ? 404 : 200).end(content);
    });
  });
  beforeAll(async () => {
    files = await pageFiles(fileURLToPath(new URL('..', pathToFileURL(SOURCES))));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    asked,
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    },
    add: (name, run) => runs.set(name, run),
  };
}
