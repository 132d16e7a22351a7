import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A bundle has no place of its own, or one that was left behind: it finds packages where it runs. */
const places = () => [import.meta.url as string | undefined, join(process.cwd(), 'bundle.js')];

/** Loads those packages of the application that are installed, each when it is read. */
export function* installedOf(names: readonly string[]): Generator<unknown, void> {
  for (const name of names) {
    const found = loadPackage(name);
    if (found !== undefined) yield found;
  }
}

function loadPackage(name: string): unknown {
  for (const place of places()) {
    try {
      if (place !== undefined) return createRequire(place)(name);
    } catch (error) {
      // The package may be there, and lack one of its own.
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'MODULE_NOT_FOUND' || !message.includes(`'${name}'`)) throw error;
    }
  }
  return undefined;
}
