import { SimulatedProcess } from '../../../libs/world/src/simulated-process.js';
import { IMMEDIATE, type World } from '../../../libs/world/src/world.js';

type Callback = (...args: unknown[]) => void;

const { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate } = globalThis;
const REAL = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate };
const { now: realDate } = Date;
const { random: realRandom } = Math;
const realNow = performance.now.bind(performance);

/**
 * Gives ioredis the time and the chance of the process whose turn it is: it has no clock to hand in.
 * The returned function ends it.
 */
export function useTimeOf(world: World): () => void {
  const processNow = () => {
    if (world.actor instanceof SimulatedProcess) return world.actor;
    throw new Error('A client of no process sets a timer');
  };
  const after = (callback: Callback, ms = 0, ...args: unknown[]) =>
    processNow().clock.after(ms, () => {
      callback(...args);
    });
  const cancel = (timer: { cancel?: () => void } | undefined) => {
    timer?.cancel?.();
  };
  Object.assign(globalThis, {
    ...{ setTimeout: after, clearTimeout: cancel, clearInterval: cancel },
    setInterval: () => {
      throw new Error('No client repeats a timer');
    },
    setImmediate: (callback: Callback, ...args: unknown[]) =>
      world.at(
        world.now,
        () => {
          callback(...args);
        },
        processNow(),
        IMMEDIATE,
      ),
  });
  Date.now = () => (world.actor instanceof SimulatedProcess ? world.actor.clock.wall() : 0);
  // Jest shares it with specs whose timers are still to come.
  performance.now = () =>
    world.actor instanceof SimulatedProcess ? world.actor.clock.now() : realNow();
  Math.random = () => processNow().random.number();
  return () => {
    Object.assign(globalThis, REAL);
    Date.now = realDate;
    performance.now = realNow;
    Math.random = realRandom;
  };
}
