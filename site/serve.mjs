import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import { extname } from 'node:path';
import { createGzip } from 'node:zlib';
import { fileAt } from './broken-links.mjs';

const HOST = 'http://site';

/** @type {Record<string, string>} */
const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/**
 * A server for the built site on loopback, as hosts of static files are.
 * @param {string} site its folder
 * @param {string} [base]
 */
export function serverOf(site, base = '/') {
  return createServer((request, response) => {
    const { url: address = '' } = request;
    const url = URL.canParse(address, HOST) ? new URL(address, HOST) : undefined;
    const found = url && fileAt(site, url, base);
    const file = found ?? fileAt(site, new URL(`${base}404`, HOST), base);
    if (file === undefined) return response.writeHead(404).end();
    const type = TYPES[extname(file)] ?? 'text/plain';
    const headers = { 'content-type': `${type}; charset=utf-8`, vary: 'accept-encoding' };
    const isSmaller = /\bgzip\b/.test(String(request.headers['accept-encoding']));
    response.writeHead(found ? 200 : 404, {
      ...headers,
      ...(isSmaller && { 'content-encoding': 'gzip' }),
    });
    const content = createReadStream(file);
    return (isSmaller ? content.pipe(createGzip()) : content).pipe(response);
  });
}
