import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { seededRandom } from '../../../../../test/support/random.js';
import { TimerHeap, type Appointment } from './timer-heap.js';
import { systemClock } from './clock.js';

interface Visit extends Appointment {
  readonly name: string;
}

describe('Agenda', () => {
  let due: string[][];
  let agenda: TimerHeap<Visit>;
  const visit = (name: string): Visit => ({ name, agendaIndex: -1 });
  const inMs = (ms: number) => systemClock.now() + ms;

  beforeEach(() => {
    jest.useFakeTimers();
    due = [];
    let names: string[] = [];
    agenda = new TimerHeap<Visit>(systemClock, {
      due: ({ name }) => names.push(name),
      allDue: () => {
        due.push(names);
        names = [];
      },
    });
  });
  afterEach(() => {
    agenda.clear();
    expect(jest.getTimerCount()).toBe(0);
    jest.useRealTimers();
  });

  it('hands over what is due, in its order, by one timer', () => {
    const [late, early, same] = [visit('late'), visit('early'), visit('same')];
    agenda.set(late, inMs(300));
    agenda.set(early, inMs(100));
    agenda.set(same, inMs(100));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(99);
    expect(due).toEqual([]);
    jest.advanceTimersByTime(1);
    expect(due).toEqual([['early', 'same']]);
    jest.advanceTimersByTime(200);
    expect(due).toEqual([['early', 'same'], ['late']]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('moves an item, to sooner and to later', () => {
    const [a, b] = [visit('a'), visit('b')];
    agenda.set(a, inMs(100));
    agenda.set(b, inMs(200));
    agenda.set(a, inMs(300));
    agenda.set(b, inMs(50));
    jest.advanceTimersByTime(60);
    expect(due).toEqual([['b']]);
    jest.advanceTimersByTime(240);
    expect(due).toEqual([['b'], ['a']]);
  });

  it('strikes items out, and takes them in again', () => {
    const [a, b] = [visit('a'), visit('b')];
    agenda.set(a, inMs(100));
    agenda.set(b, inMs(100));
    agenda.delete(a);
    agenda.delete(a);
    jest.advanceTimersByTime(100);
    expect(due).toEqual([['b']]);
    agenda.set(a, inMs(1));
    jest.advanceTimersByTime(1);
    expect(due).toEqual([['b'], ['a']]);
  });

  it('hands over at once what is overdue, and lets it be entered again meanwhile', () => {
    const a = visit('a');
    let times = 0;
    const again = new TimerHeap<Visit>(systemClock, {
      due: (item) => {
        times += 1;
        if (times < 3) again.set(item, inMs(-5));
      },
      allDue: () => undefined,
    });
    again.set(a, inMs(-100));
    jest.advanceTimersByTime(10);
    expect(times).toBe(3);
    expect(a.agendaIndex).toBe(-1);
  });

  it('goes on with the others when one cannot be looked at', () => {
    const [a, b, c] = [visit('a'), visit('b'), visit('c')];
    const seen: Visit[] = [];
    const failing = new TimerHeap<Visit>(systemClock, {
      due: (item) => {
        seen.push(item);
        if (item === a) throw new Error('cannot be looked at');
      },
      allDue: () => undefined,
    });
    failing.set(a, inMs(10));
    failing.set(b, inMs(20));
    failing.set(c, inMs(30));
    expect(() => jest.advanceTimersByTime(10)).toThrow('cannot be looked at');
    jest.advanceTimersByTime(20);
    expect(seen).toEqual([a, b, c]);
    expect(failing.size).toBe(0);
  });

  it('may be changed by whoever looks at an item', () => {
    const [a, b, c] = [visit('a'), visit('b'), visit('c')];
    const [d, e] = [visit('d'), visit('e')];
    const seen: Visit[] = [];
    const changed = new TimerHeap<Visit>(systemClock, {
      due: (item) => {
        seen.push(item);
        if (item !== a) return;
        changed.delete(b);
        changed.delete(a);
        changed.set(c, inMs(-5));
        changed.set(d, inMs(50));
      },
      allDue: () => undefined,
    });
    [a, b, c, d, e].forEach((item, i) => {
      changed.set(item, inMs(10 + i));
    });
    jest.advanceTimersByTime(20);
    expect(seen).toEqual([a, c, e]);
    jest.advanceTimersByTime(60);
    expect(seen).toEqual([a, c, e, d]);
  });

  it('knows nothing of what it held before it was cleared', () => {
    const items = Array.from({ length: 20 }, (_, i) => visit(String(i)));
    for (const item of items) agenda.set(item, inMs(1));
    agenda.clear();
    items.slice(0, 9).forEach((item, i) => {
      agenda.set(item, inMs(100 - 10 * i));
    });
    jest.advanceTimersByTime(100);
    expect(due.flat()).toEqual(['8', '7', '6', '5', '4', '3', '2', '1', '0']);
  });

  it('takes items that are due later than a timer can count', () => {
    const a = visit('a');
    agenda.set(a, Infinity);
    agenda.set(visit('far'), inMs(2 ** 40));
    expect(jest.getTimerCount()).toBe(0);
    agenda.set(a, inMs(10));
    jest.advanceTimersByTime(10);
    expect(due).toEqual([['a']]);
  });

  it('keeps the order of any history of entering, moving and striking out', () => {
    const random = seededRandom('agenda');
    const items = Array.from({ length: 200 }, (_, i) => visit(String(i)));
    const planned = new Map<string, number>();
    const start = systemClock.now();
    for (let step = 0; step < 3_000; step += 1) {
      const item = random.pick(items);
      if (random.chance(0.3)) {
        agenda.delete(item);
        planned.delete(item.name);
      } else {
        const dueAt = start + random.int(1, 500);
        agenda.set(item, dueAt);
        planned.set(item.name, dueAt);
      }
    }
    jest.advanceTimersByTime(500);
    const order = due.flat();
    expect(new Set(order)).toEqual(new Set(planned.keys()));
    expect(order).toHaveLength(planned.size);
    const times = order.map((name) => planned.get(name) ?? NaN);
    expect(times).toEqual([...times].sort((x, y) => x - y));
  });
});
