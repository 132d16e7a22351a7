import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { fileOf } from './broken-links.mjs';

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** @param {string} path */
function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/**
 * A server for the built site on loopback, as hosts of static files are.
 * @param {string} site its folder
 * @param {string} [base]
 */
export function serverOf(site, base = '/') {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const path = decoded(pathname);
    const found =
      path?.startsWith(base) && !path.includes('..')
        ? fileOf(site, path.slice(base.length))
        : undefined;
    const file = found ?? fileOf(site, '404');
    if (file === undefined) return response.writeHead(404).end();
    const type = TYPES[extname(file)] ?? 'text/plain';
    response.writeHead(found ? 200 : 404, { 'content-type': `${type}; charset=utf-8` });
    return createReadStream(file).pipe(response);
  });
}
