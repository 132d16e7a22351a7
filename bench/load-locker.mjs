// Lockers are files of lockers/, some with variants (`ours:fair`), or files outside the bench.
import { copyFileSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HOST, WAIT_MS } from './terms.mjs';

const OUTSIDE = 'outside:';
/** A file from outside the bench is copied here, so that it can import the packages of the bench. */
const GUESTS = join(import.meta.dirname, 'node_modules', '.lockers');

/** @param {string} name of a locker */
export const isOutside = (name) => name.startsWith(OUTSIDE);

/**
 * Copies a file from outside the bench, so that it can import the packages of the bench.
 * @param {string} file a module without files of its own
 * @returns {string} the name of the locker
 */
export function adopt(file) {
  const name = basename(file, '.mjs');
  mkdirSync(GUESTS, { recursive: true });
  copyFileSync(file, fileOf(name));
  return `${OUTSIDE}${name}`;
}

/**
 * @param {string} name
 * @returns {Promise<{ label: string, create: (terms: import('./terms.mjs').Terms) => Promise<import('./terms.mjs').Locker> }>}
 */
export async function loadLocker(name) {
  if (isOutside(name)) {
    const guest = fileOf(name.slice(OUTSIDE.length));
    return adapted(await import(pathToFileURL(guest).href));
  }
  const [file, variant] = name.split(':');
  const { label, create } = await import(`./lockers/${file}.mjs`);
  return { label, create: (terms) => create(terms, variant) };
}

const fileOf = (name) => join(GUESTS, `${name}.mjs`);

function adapted({ meta, create }) {
  return {
    label: meta.label,
    async create({ port, leaseMs }) {
      const locker = await create(port, { host: HOST });
      return {
        async acquire(key) {
          const handle = await locker.lock(key, leaseMs, WAIT_MS);
          return () => locker.unlock(handle);
        },
        hold: locker.holdWithRenewal && ((key) => locker.holdWithRenewal(key, leaseMs)),
      };
    },
  };
}
