import type { FaultProxy, Fault } from '../../support/fault-proxy.js';
import type { Random } from '../../support/random.js';
import { pause } from './pace.js';

/** Each of them is looked at for each frame. */
const MOST_ARMED = 16;

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
  const armed: Fault[] = [];
  const going = { on: true };
  const end = () => (going.on = false);
  void work.then(end, end);
  while (going.on) {
    await pause(everyMs);
    if (proxy.connections.length === 0) continue;
    const victim = random.pick(proxy.connections);
    const where = (connection: unknown) => connection === victim;
    const dice = random.next();
    if (dice < 0.7 && !victim.subscriber) armed.push(proxy.loseReply({ where, times: 1 }));
    else if (dice < 0.85) armed.push(proxy.loseRequest({ where, times: 1 }));
    else proxy.cut({ where });
    if (armed.length > MOST_ARMED) armed.shift()?.heal();
  }
  await proxy.heal();
  return work;
}
