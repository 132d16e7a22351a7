import type { CountDownLatch } from '../../libs/redis-lock/src/primitives/count-down-latch/latch.js';
import { outcomeOf } from './answers.js';
import { byKey } from './by-key.js';
import type { Trial } from './primitives.js';
import { SLACK_MS } from './referee.js';
import type { SimulatedProcess } from '../../libs/world/src/simulated-process.js';
import type { Simulation } from './simulation.js';

const COUNT = 3;
const NEW = { begun: 0, done: 0, doneAt: Infinity, setting: 0, sets: 0 };

interface Round {
  number: number;
  /** Count-downs that have begun, and those that are known to have counted. */
  begun: number;
  done: number;
  /** When the last of them was known. */
  doneAt: number;
  /** Calls that set it and have no answer, and those that have set it, as far as they know. */
  setting: number;
  sets: number;
}

/** Callers that count down, and callers that wait until the latch is open. */
export function latch(common: Omit<Trial, 'open'>): Trial {
  const roundOf = byKey<Round>(() => ({ ...NEW, number: 1 }));
  return {
    ...common,
    keeps: /key\d/,
    isFree: () => false,
    open: (app, simulation) => {
      const { referee, history, world } = simulation;
      const latches = app.latch();
      const { process } = app;
      const name = process.name;
      return async (key, random) => {
        const round = roundOf(simulation, key);
        const { number } = round;
        const latchName = `${key}-${String(number)}`;
        const one = latches.get(latchName);
        const call = history.newCall();
        const isWaiter = random.chance(0.6);
        const waitTimeMs = isWaiter ? random.pick([0, 100, 20_000]) : 0;
        const asked = isWaiter ? { verb: 'wait', options: { waitTimeMs } } : { verb: 'countDown' };
        history.add({ type: 'call', call, process: name, key: latchName, ...asked });
        const isPresent = () => round.number === number;
        try {
          const isSet = round.sets > 0 || (await setOnce(round, one));
          if (isWaiter) {
            const begunAt = world.now;
            const isOpen = await one.wait({ waitTimeMs });
            history.add({ type: 'return', call, process: name, outcome: String(isOpen) });
            // Without a count, it is open.
            if (isPresent() && isSet)
              judge(simulation, process, latchName, round, { isOpen, begunAt, waitTimeMs });
            if (isOpen && isPresent()) Object.assign(round, NEW, { number: number + 1 });
          } else {
            if (isPresent()) round.begun += 1;
            const left = await one.countDown();
            if (isPresent() && isSet) judgeCount(simulation, latchName, round, left);
            history.add({ type: 'return', call, process: name, outcome: 'counted' });
            if (isPresent() && isSet) round.done += 1;
            if (isPresent() && round.done === COUNT) round.doneAt = world.now;
          }
        } catch (error) {
          history.add({ type: 'return', call, process: name, outcome: outcomeOf(error) });
        }
        referee.progressed();
        await process.sleep(random.next() * 10);
      };
    },
  };
}

/** Answers whether it is set. */
async function setOnce(round: Round, latch: CountDownLatch): Promise<boolean> {
  const { number } = round;
  round.setting += 1;
  try {
    const isMine = await latch.trySetCount(COUNT);
    if (round.number !== number) return false;
    round.setting -= 1;
    if (isMine) round.sets += 1;
    return true;
  } catch {
    // It may be set, now or later.
    return false;
  }
}

interface Waited {
  readonly isOpen: boolean;
  readonly begunAt: number;
  readonly waitTimeMs: number;
}

/** Each call counts once. */
function judgeCount({ referee }: Simulation, name: string, { begun }: Round, left: number): void {
  if (left >= COUNT - begun || referee.hasLostData(0)) return;
  referee.broken('latch', `${name} has ${String(left)} left after ${String(begun)} count-downs`);
}

/** A latch opens once all have counted down, and each waiter learns of it. */
function judge(
  { referee, rules, world }: Simulation,
  process: SimulatedProcess,
  name: string,
  { begun, doneAt, setting, sets }: Round,
  { isOpen, begunAt, waitTimeMs }: Waited,
): void {
  if (referee.hasLostData(0)) return;
  if (isOpen && begun < COUNT) {
    referee.broken('latch', `${name} opened after ${String(begun)} count-downs`);
  }
  // A late call may have set it again.
  if (setting > 0 || sets !== 1) return;
  const since = Math.max(doneAt, begunAt);
  const isQuiet = !referee.wasDisturbed(process, since);
  if (!(isQuiet || rules.isSmooth)) return;
  if (waitTimeMs === 0) {
    const isWrong = !isOpen && begunAt - doneAt > SLACK_MS;
    if (isWrong) referee.broken('latch', `${name} is open, and a caller is told that it is not`);
    return;
  }
  const lateMs = world.now - since - (isQuiet ? rules.freeMs : rules.pollMs) - SLACK_MS;
  if (lateMs > 0) referee.broken('latch', `${name}: a waiter is late by ${String(lateMs)} ms`);
}
