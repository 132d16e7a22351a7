import { withElsewhere } from './elsewhere.js';
import { EXIT, type Run } from './io.js';
import { jsonOf, pageOf } from './report.js';
import type { Server } from '../connection/cli-target.js';
import { lookAt, withServers } from './watch.js';

/** Shows what each server has under a name. Resolves with the exit code. */
export async function runInspect(
  servers: readonly Server[],
  name: string,
  io: Run,
): Promise<number> {
  const nodes = await withServers(servers, io, async (watched) =>
    withElsewhere(watched, await lookAt(watched, name), name, io.clock),
  );
  if (io.isJson) io.out(jsonOf({ version: 1, name, nodes }));
  else io.out(nodes.map((look) => pageOf(name, look)).join('\n'));
  return nodes.some((look) => 'problem' in look) ? EXIT.broken : EXIT.fine;
}
