// Texts that a folder should have, each as a file of its own.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Files of the folder that are missing, unknown, or different.
 * @param {string} folder
 * @param {ReadonlyMap<string, string>} due the texts by the names of their files
 */
export function differences(folder, due) {
  const there = existsSync(folder) ? readdirSync(folder) : [];
  const names = [...new Set([...due.keys(), ...there])].sort();
  return names.flatMap((file) => {
    if (!there.includes(file)) return [{ file, is: 'missing' }];
    const text = due.get(file);
    if (text === undefined) return [{ file, is: 'superfluous' }];
    return readFileSync(join(folder, file), 'utf8') === text ? [] : [{ file, is: 'different' }];
  });
}

/**
 * Settles the differences, and returns them.
 * @param {string} folder
 * @param {ReadonlyMap<string, string>} due
 */
export function settle(folder, due) {
  const found = differences(folder, due);
  mkdirSync(folder, { recursive: true });
  for (const { file } of found) {
    const text = due.get(file);
    if (text === undefined) rmSync(join(folder, file));
    else writeFileSync(join(folder, file), text);
  }
  return found;
}
