// Starts an example: `npm run example -- http`. Runs before anything is installed: Node built-ins only.
import { EXAMPLES } from './examples/table.mjs';
import { prepare } from './prepare.mjs';

const USAGE = 2;

const [name = ''] = process.argv.slice(2);
const example = EXAMPLES.get(name);
if (example) {
  const { REDIS_URL, DATABASE_URL } = process.env;
  const postgres = Boolean(example.postgres) && !DATABASE_URL;
  await prepare({ examples: true, redis: !REDIS_URL, postgres });
  const { main } = await import('./examples/run.mjs');
  process.exit(await main(name, example));
}
process.stderr.write(`npm run example -- NAME, one of: ${[...EXAMPLES.keys()].join(', ')}\n`);
process.exitCode = USAGE;
