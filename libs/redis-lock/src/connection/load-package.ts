import { createRequire } from 'node:module';
import { join } from 'node:path';

/** A bundle has no place of its own, or one that was left behind: packages are beside the program. */
const places = () => [
  import.meta.url,
  process.argv[1] ?? '',
  // A launcher may have started the program.
  join(process.cwd(), 'bundle.js'),
];

/**
 * Loads those packages of the application that are installed, each when it is read.
 * @param member a version without it is too old
 */
export function* installedOf<Package extends object>(
  names: readonly string[],
  member: keyof Package,
): Generator<Package, void> {
  for (const name of names) {
    const place = places().find((one) => finds(one, name));
    const found = place && (createRequire(place)(name) as Package);
    if (found && member in found) yield found;
  }
}

/** Loaders have different words for a missing package, and refuse a place that is no file. */
function finds(place: string, name: string): boolean {
  try {
    return createRequire(place).resolve(name) !== '';
  } catch {
    return false;
  }
}
