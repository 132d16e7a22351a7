import type { FaultProxy } from '../../support/fault-proxy.js';
import type { Random } from '../../support/random.js';
import { ArmedFaults } from './network-faults.js';
import { pause } from './pace.js';

/**
 * Cuts one connection after the other while the work goes on, most often between the execution of a
 * command and its answer: what makes ioredis send it again. Then all is well again.
 */
export async function cutDuring<T>(
  proxy: FaultProxy,
  random: Random,
  everyMs: number,
  work: Promise<T>,
): Promise<T> {
  const armed = new ArmedFaults();
  const going = { on: true };
  const end = () => (going.on = false);
  void work.then(end, end);
  while (going.on) {
    await pause(everyMs);
    if (proxy.connections.length === 0) continue;
    const victim = random.pick(proxy.connections);
    const where = (connection: unknown) => connection === victim;
    const dice = random.next();
    if (dice < 0.7 && !victim.subscriber) armed.add(proxy.loseReply({ where, times: 1 }));
    else if (dice < 0.85) armed.add(proxy.loseRequest({ where, times: 1 }));
    else proxy.cut({ where });
  }
  await proxy.heal();
  return work;
}
