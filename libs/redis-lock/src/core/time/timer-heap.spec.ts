import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { seededRandom } from '../../../../../test/support/random.js';
import { TimerHeap, type Timed } from './timer-heap.js';
import { systemClock, type Clock } from './clock.js';

interface Visit extends Timed {
  readonly name: string;
}

describe('TimerHeap', () => {
  let due: string[];
  let heap: TimerHeap;
  /** The timers in the order in which they were armed. */
  let timers: NodeJS.Timeout[];
  const visit = (name: string, onDue = () => {}): Visit => ({
    name,
    heapIndex: -1,
    group: undefined,
    onDue: () => {
      due.push(name);
      onDue();
    },
  });
  const inMs = (ms: number) => systemClock.now() + ms;

  beforeEach(() => {
    jest.useFakeTimers();
    due = [];
    timers = [];
    const clock: Clock = {
      ...systemClock,
      after(delayMs, callback) {
        const timer = systemClock.after(delayMs, callback);
        if (timer !== undefined) timers.push(timer as NodeJS.Timeout);
        return timer;
      },
    };
    heap = new TimerHeap(clock);
  });
  afterEach(() => {
    for (const item of heap.items()) heap.delete(item);
    jest.runOnlyPendingTimers();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('hands over what is due, in its order, by one timer', () => {
    const [late, early, same] = [visit('late'), visit('early'), visit('same')];
    heap.set(late, inMs(300));
    heap.set(early, inMs(100));
    heap.set(same, inMs(100));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(99);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(due).toEqual(['early', 'same']);
    jest.advanceTimersByTime(200);
    expect(due).toEqual(['early', 'same', 'late']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('moves an item, to sooner and to later', () => {
    const [a, b] = [visit('a'), visit('b')];
    heap.set(a, inMs(100));
    heap.set(b, inMs(200));
    heap.set(a, inMs(300));
    heap.set(b, inMs(50));
    jest.advanceTimersByTime(60);
    expect(due).toEqual(['b']);
    jest.advanceTimersByTime(240);
    expect(due).toEqual(['b', 'a']);
  });

  it('strikes items out, and takes them in again', () => {
    const [a, b] = [visit('a'), visit('b')];
    heap.set(a, inMs(100));
    heap.set(b, inMs(100));
    heap.delete(a);
    heap.delete(a);
    jest.advanceTimersByTime(100);
    expect(due).toEqual(['b']);
    heap.set(a, inMs(1));
    jest.advanceTimersByTime(1);
    expect(due).toEqual(['b', 'a']);
  });

  it('hands over at once what is overdue, and lets it be entered again meanwhile', () => {
    const a = visit('a', () => {
      if (due.length < 3) heap.set(a, inMs(-5));
    });
    heap.set(a, inMs(-100));
    jest.advanceTimersByTime(10);
    expect(due).toEqual(['a', 'a', 'a']);
    expect(a.heapIndex).toBe(-1);
  });

  it('goes on with the others when one cannot be looked at', () => {
    const a = visit('a', () => {
      throw new Error('cannot be looked at');
    });
    heap.set(a, inMs(10));
    heap.set(visit('b'), inMs(20));
    heap.set(visit('c'), inMs(30));
    expect(() => jest.advanceTimersByTime(10)).toThrow('cannot be looked at');
    jest.advanceTimersByTime(20);
    expect(due).toEqual(['a', 'b', 'c']);
    expect(heap.items()).toEqual([]);
  });

  it('may be changed by the code that looks at an item', () => {
    const [b, c, d, e] = [visit('b'), visit('c'), visit('d'), visit('e')];
    const a = visit('a', () => {
      heap.delete(b);
      heap.delete(a);
      heap.set(c, inMs(-5));
      heap.set(d, inMs(50));
    });
    [a, b, c, d, e].forEach((item, i) => {
      heap.set(item, inMs(10 + i));
    });
    jest.advanceTimersByTime(20);
    expect(due).toEqual(['a', 'c', 'e']);
    jest.advanceTimersByTime(60);
    expect(due).toEqual(['a', 'c', 'e', 'd']);
  });

  describe('keeps the process alive', () => {
    const keepsAlive = () => timers.at(-1)?.hasRef();

    it('while a caller waits, and not by what is due', () => {
      const [one, other] = [visit('one'), visit('other')];
      heap.set(visit('a'), inMs(10));
      expect(keepsAlive()).toBe(false);
      heap.beginWait(one, inMs(20));
      expect(keepsAlive()).toBe(true);
      heap.beginWait(other, Infinity);
      heap.endWait(one);
      expect(keepsAlive()).toBe(true);
      heap.endWait(other);
      expect(keepsAlive()).toBe(false);
      expect(timers).toHaveLength(1);
    });

    it('also by a timer that is armed later', () => {
      const wait = visit('b');
      heap.beginWait(wait, inMs(20));
      heap.set(visit('a'), inMs(10));
      expect(keepsAlive()).toBe(true);
      jest.advanceTimersByTime(10);
      expect(timers).toHaveLength(3);
      expect(keepsAlive()).toBe(true);
      heap.endWait(wait);
      expect(keepsAlive()).toBe(false);
    });

    it('also while the wait has no limit', () => {
      const wait = visit('wait');
      heap.beginWait(wait, Infinity);
      expect(keepsAlive()).toBe(true);
      heap.endWait(wait);
      expect(keepsAlive()).toBe(false);
    });

    it('no longer than a wait that ends when its time comes', () => {
      const wait = visit('wait', () => {
        heap.endWait(wait);
      });
      heap.beginWait(wait, inMs(10));
      heap.set(visit('b'), inMs(20));
      jest.advanceTimersByTime(10);
      expect(timers).toHaveLength(2);
      expect(keepsAlive()).toBe(false);
    });
  });

  it('takes items that are due later than a timer can count', () => {
    const a = visit('a');
    heap.set(a, Infinity);
    heap.set(visit('far'), inMs(2 ** 40));
    jest.advanceTimersByTime(3_600_000);
    expect(due).toEqual([]);
    heap.set(a, inMs(10));
    jest.advanceTimersByTime(10);
    expect(due).toEqual(['a']);
  });

  it('knows for how long the process stood still, from the delay of its timer', () => {
    let [now, fire] = [0, () => {}];
    const pauses: number[] = [];
    const clock: Clock = {
      ...systemClock,
      now: () => now,
      after: (delayMs, callback) => {
        pauses.push(delayMs);
        fire = callback;
        return undefined;
      },
    };
    const times = new TimerHeap(clock);
    const [far, soon] = [visit('far'), visit('soon')];
    times.set(far, 60_000);
    now = 1_000;
    fire();
    now = 5_000;
    // An item that is set before the late timer fires arms another one.
    times.set(soon, 0);
    expect(times.stoodStillMs(0)).toBe(3_000);
    fire();
    expect(due).toEqual(['soon']);
    now = 6_040;
    fire();
    expect([times.stoodStillMs(0), times.stoodStillMs(4_500), times.stoodStillMs(5_000)]).toEqual([
      3_000, 500, 0,
    ]);
    times.delete(far);
    now = 7_040;
    fire();
    // Without an item there is no timer that could be late.
    now = 900_000;
    expect(times.stoodStillMs(5_000)).toBe(0);
    expect(Math.max(...pauses)).toBe(1_000);
  });

  it('keeps the order of any history of entering, moving and striking out', () => {
    const random = seededRandom('heap');
    const items = Array.from({ length: 200 }, (_, i) => visit(String(i)));
    const planned = new Map<string, number>();
    const start = systemClock.now();
    for (let step = 0; step < 3_000; step += 1) {
      const item = random.pick(items);
      if (random.chance(0.3)) {
        heap.delete(item);
        planned.delete(item.name);
      } else {
        const dueAt = start + random.int(1, 500);
        heap.set(item, dueAt);
        planned.set(item.name, dueAt);
      }
    }
    jest.advanceTimersByTime(500);
    expect(new Set(due)).toEqual(new Set(planned.keys()));
    expect(due).toHaveLength(planned.size);
    const times = due.map((name) => planned.get(name) ?? NaN);
    expect(times).toEqual([...times].sort((x, y) => x - y));
  });
});
