import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { FaultName, Primitive } from '../plan.js';
import { BUGS } from './bugs.js';
import { find, verdictOf, type Row } from './found.js';
import { PLANTED } from './seeds.js';

const HEAD = `import type { Row } from './found.js';

/** Written by \`node scripts/find-planted.mjs --write\`, which looks for what no longer shows. */
export const PLANTED: readonly Row[] = [
`;

/** Looks for the histories in which bugs show, from the command line on. */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      primitive: { type: 'string' },
      bug: { type: 'string', default: '' },
      faults: { type: 'string' },
      sections: { type: 'string', default: '200000' },
      write: { type: 'boolean', default: false },
    },
  });
  const faults = values.faults?.split(',').filter(Boolean) as FaultName[] | undefined;
  const rows: Row[] = [];
  let missing = 0;
  for (const [primitive, bugs] of Object.entries(BUGS) as [Primitive, (typeof BUGS)['lock']][]) {
    for (const [name, bug] of Object.entries(bugs ?? {})) {
      const known = PLANTED.find(([of, called]) => of === primitive && called === name);
      const isMeant = (values.primitive ?? primitive) === primitive && name.includes(values.bug);
      if (
        known !== undefined &&
        (!isMeant || (await verdictOf(known, bug)).violation?.promise === known[3])
      ) {
        rows.push(known);
        continue;
      }
      if (!isMeant) continue;
      const found = await find(primitive, bug, Number(values.sections), faults);
      const what = `${primitive}: ${name}`;
      if (found === undefined) {
        missing += 1;
        console.log(`${what}: not found`);
        continue;
      }
      const { seed, promise, text, sections } = found;
      console.log(
        `${what}: seed ${String(seed)}, ${String(sections)} sections, ${promise}: ${text}`,
      );
      rows.push(
        faults ? [primitive, name, seed, promise, faults] : [primitive, name, seed, promise],
      );
      if (values.write) await write(rows, PLANTED);
    }
  }
  if (values.write) await write(rows, []);
  return missing > 0 ? 1 : 0;
}

/** Rows that were not looked at stay. */
async function write(rows: readonly Row[], others: readonly Row[]): Promise<void> {
  const kept = others.filter((one) => !rows.some((row) => row[0] === one[0] && row[1] === one[1]));
  const lines = [...rows, ...kept].map((row) => `  ${JSON.stringify(row)},\n`);
  await writeFile('test/simulation/planted/seeds.ts', `${HEAD}${lines.join('')}];\n`);
}
