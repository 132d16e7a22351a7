import { describe, expect, it } from '@jest/globals';
import { deliver, deliveries } from '../../../../../test/support/deliver.js';
import { serverNow } from '../../../../../test/support/moments.js';
import { QUEUE_KINDS } from '../../../../../test/support/queue-kinds.js';
import {
  busy,
  FREE,
  granted,
  handedTo,
  heldBy,
  LEASE_MS,
  standing,
  useQueueScripts,
} from '../../../../../test/support/queue-scripts.js';
import { ownerOf, shortOf } from '../../../../../test/support/queue-view.js';
import { RENEW } from '../lua/hash-lock.js';
import type { Script } from '../../core/redis/script.js';
import { READ_ACQUIRE, READ_INSPECT } from './read-lock.scripts.js';
import { WRITE_ACQUIRE, WRITE_INSPECT } from './write-lock.scripts.js';

const MEMORY_MS = 3_000;
const READ_MS = 10_000;

describe('the scripts of the write lock that is handed on, and readers', () => {
  const {
    look: lookAtLine,
    claim,
    claimFenced,
    enter,
    leave,
    pass,
    passInOrder,
    cancel,
    stand,
    hold,
    redis,
    ear,
    view,
  } = useQueueScripts(QUEUE_KINDS.WRITE_LOCK);
  const key = (name: string) => view.keys[name] ?? '';
  const leaseOf = (reader: string) => `${key('prefix')}${ownerOf(reader)}:rwlock_timeout:1`;

  /** The waiting writers and readers, and the readers whose turn it is. */
  const lookAtTurns = async () => {
    const shown = ['writers', 'readers', 'turn'];
    const lists = await Promise.all(shown.map((name) => redis.admin.zrange(key(name), '0', '-1')));
    const [writers, readers, turn] = lists.map((owners) => owners.map(shortOf));
    return { writers, readers, turn, writersTurn: await redis.admin.exists(key('writersTurn')) };
  };
  const look = async () => ({ ...(await lookAtLine()), ...(await lookAtTurns()) });
  const NO_WAITER = { writers: [], readers: [], turn: [], writersTurn: 0 };

  const read = (owner: string, companion = '') =>
    run(READ_ACQUIRE, {
      ...{ owner: ownerOf(owner), holdCount: 1, leaseMs: READ_MS },
      ...{ companion: companion && ownerOf(companion), memoryMs: MEMORY_MS },
    });
  const run = <R>(script: Script<string, string, R>, args: Record<string, string | number>) =>
    view.run(script, args);
  /** A waiter that asked this long ago, or has its turn. */
  const wait = async (list: 'writers' | 'readers' | 'turn', owner: string, leftMs = MEMORY_MS) => {
    await redis.admin.zadd(key(list), (await serverNow(redis.admin)) + leftMs, ownerOf(owner));
    await redis.admin.pexpire(key(list), list === 'turn' ? 1_000 : MEMORY_MS);
  };

  const RELEASES: [string, () => Promise<string>, answer: string, passed: string][] = [
    ['leave', () => leave('A1'), 'done', 'done'],
    ['pass', () => pass('A1', 'A2'), 'yielded', 'passed'],
    ['pass-in-order', () => passInOrder('A1', 'A2'), 'yielded', 'done'],
    ['cancel', () => cancel('A1'), 'done', 'done'],
  ];

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    describe.each(RELEASES)('%s', (name, release, answer, passed) => {
      const isPass = name === 'pass';

      it.each([
        ['waits', 'readers'],
        ['has its turn', 'turn'],
      ] as const)(
        'leaves the lock to a reader that %s, although a writer is next',
        async (_, list) => {
          await ear.listen('AB');
          await ear.listenToAll();
          await hold('A1', 1);
          await stand('B1');
          await wait('writers', 'B1');
          await wait(list, 'R1');
          expect(await repeatedly(release, 'absent')).toBe(answer);
          expect(await look()).toEqual({
            ...{ ...FREE, ...standing('B1'), ...NO_WAITER },
            ...{ writers: ['B1'], turn: ['R1'], writersTurn: 1 },
          });
          expect(await ear.heard()).toEqual(['all: 1', 'all: 0']);
          expect(await claim('B1')).toMatchObject(busy);
          expect(await read('R1')).toEqual(granted);
        },
      );

      it.each([
        ['and to readers that wait', ['R1']],
        ['although another writer is next', []],
      ])('leaves it to the writer itself as long as that reads, %s', async (_, readers) => {
        await ear.listen('AB');
        await ear.listenToAll();
        await hold('A1', 1);
        expect(await read('A3', 'A1')).toEqual(granted);
        await stand('B1');
        await wait('writers', 'B1');
        for (const reader of readers) await wait('readers', reader);
        expect(await repeatedly(release, 'absent')).toBe(answer);
        expect(await redis.admin.hgetall('k')).toEqual({ mode: 'read', [ownerOf('A3')]: '1' });
        expect(await redis.admin.pttl('k')).toBeLessThanOrEqual(READ_MS);
        expect(await look()).toMatchObject({ ...standing('B1'), turn: readers });
        expect(await ear.heard()).toEqual(['all: 1', 'all: 0']);
      });

      it('hands it on past what is left of dead readers, and of those that ask no more', async () => {
        await ear.listen('AB');
        await hold('A1', 1);
        await read('A3', 'A1');
        await redis.admin.del(leaseOf('A3'));
        await wait('readers', 'R1', -1);
        await stand('B1');
        await wait('writers', 'B1');
        expect(await release()).toBe(passed);
        const next = isPass ? { ...heldBy('A2'), ...standing('B1') } : handedTo('B1');
        expect(await look()).toEqual({
          ...{ ...next, ...NO_WAITER },
          ...(isPass && { writers: ['B1'], writersTurn: 1 }),
          ...(name === 'pass-in-order' && { ...standing('A2'), writers: ['A2'], writersTurn: 1 }),
        });
      });

      it.each(['readers', 'turn', 'writers'])(
        'is done also if `%s` is something else',
        async (list) => {
          await redis.admin.rpush(key(list), 'x');
          view.foreign.add(list);
          await hold('A1', 1);
          expect(['done', 'passed', 'yielded']).toContain(await release());
          expect((await lookAtLine()).lock).not.toHaveProperty('A1');
        },
      );
    });
  });

  describe('who waits to write', () => {
    it('is remembered by its claim, and by nothing once it has what it wants', async () => {
      await ear.listen('BC');
      await hold('X1', 1);
      await claim('B1');
      await claim('C1');
      expect(await lookAtTurns()).toEqual({ ...NO_WAITER, writers: ['B1', 'C1'], writersTurn: 1 });
      expect(await redis.admin.pttl(key('writers'))).toBeGreaterThan(MEMORY_MS - 1_000);
      await leave('X1');
      expect(await lookAtTurns()).toEqual({ ...NO_WAITER, writers: ['C1'], writersTurn: 1 });
      await leave('B1');
      expect(await look()).toEqual({ ...handedTo('C1'), ...NO_WAITER });
      await leave('C1');
      expect(await claim('B2')).toEqual(granted);
      expect(await look()).toEqual({ ...heldBy('B2'), ...NO_WAITER });
    });

    it('is forgotten when it was passed on within its process, and others are not', async () => {
      await hold('A1', 1);
      await run(WRITE_ACQUIRE, { owner: ownerOf('A2'), leaseMs: LEASE_MS });
      expect(await lookAtTurns()).toEqual({ ...NO_WAITER, writers: ['A2'], writersTurn: 1 });
      expect(await pass('A1', 'A2')).toBe('passed');
      expect(await look()).toEqual({ ...heldBy('A2'), ...NO_WAITER });
      await wait('writers', 'A3');
      await wait('writers', 'B1');
      expect(await pass('A2', 'A3', { starts: 0 })).toBe('passed');
      expect(await look()).toEqual({
        ...heldBy('A3', 0),
        ...NO_WAITER,
        writers: ['B1'],
        writersTurn: 1,
      });
    });

    it('keeps the readers patient: their time begins with each writer that leaves', async () => {
      for (const release of [
        () => pass('A1', 'A2'),
        () => passInOrder('A2', 'A3'),
        () => leave('A3'),
      ]) {
        if (!(await redis.admin.exists('k'))) await hold('A1', 1);
        await wait('writers', 'B1');
        await redis.admin.del(key('writersTurn'));
        await release();
        expect(await redis.admin.pttl(key('writersTurn'))).toBeGreaterThan(4_000);
      }
    });

    it('is remembered when it is named, but another process goes first', async () => {
      await ear.listen('AB');
      await hold('A1', 1);
      await claim('B1');
      expect(await passInOrder('A1', 'A2')).toBe('done');
      expect(await look()).toEqual({
        ...{ ...handedTo('B1'), ...standing('A2') },
        ...{ ...NO_WAITER, writers: ['A2'], writersTurn: 1 },
      });
    });

    it('leaves nothing when it gives up, and tells the readers if it was the last', async () => {
      await hold('X1', 1);
      await claim('B1');
      await claim('C1');
      await ear.listenToAll();
      expect(await cancel('B1')).toBe('absent');
      expect(await lookAtTurns()).toEqual({ ...NO_WAITER, writers: ['C1'], writersTurn: 1 });
      expect(await ear.heard()).toEqual([]);
      expect(await cancel('C1')).toBe('absent');
      expect(await look()).toEqual({ ...heldBy('X1'), ...NO_WAITER });
      expect(await ear.heard()).toEqual(['all: 1', 'all: 0']);
    });

    it('makes new readers wait while it stands back for Java', async () => {
      await ear.listen('B');
      await ear.listenToAll();
      await hold('A1', 1);
      await claim('B1');
      expect(await leave('A1', { due: 1 })).toBe('reserved');
      expect(await read('R1')).toMatchObject(busy);
      expect((await lookAtLine()).lock).toEqual({});
    });
  });

  describe('a lock that was handed over and not entered', () => {
    it('is held, to all who look at it', async () => {
      await hold('A1', 0);
      expect(await enter('B1')).toMatchObject(busy);
      expect(await claim('B1')).toMatchObject(busy);
      expect(await claimFenced('B1')).toMatchObject(busy);
      expect(await read('R1')).toMatchObject(busy);
      expect(await run(WRITE_INSPECT, {})).toMatchObject({
        holders: [{ owner: ownerOf('A1'), holdCount: 0 }],
      });
      expect(await run(READ_INSPECT, {})).toEqual({ remainingMs: 0, holders: [] });
      const renewal = [`${ownerOf('A1')}:write`, LEASE_MS];
      expect(await deliver(redis.admin, RENEW, ['k'], renewal)).toEqual([true]);
      expect(await redis.admin.hgetall('k')).toEqual({
        mode: 'write',
        [`${ownerOf('A1')}:write`]: '0',
      });
    });

    it.each([
      ['enter', () => enter('A1')],
      ['claim', () => claim('A1')],
    ])('is entered by %s', async (_, entering) => {
      await hold('A1', 0);
      for (let time = 0; time < 3; time += 1) expect(await entering()).toEqual(granted);
      expect(await lookAtLine()).toEqual(heldBy('A1'));
    });

    it('lets its owner read when it has entered', async () => {
      await hold('A1', 0);
      await enter('A1');
      expect(await read('A3', 'A1')).toEqual(granted);
    });
  });

  it.each([
    ['claim', () => claim('A1')],
    ['claim-fenced', () => claimFenced('A1')],
  ])('%s takes what dead readers have left', async (_, entering) => {
    await read('R1');
    await redis.admin.del(leaseOf('R1'));
    await entering();
    expect(await lookAtLine()).toEqual(heldBy('A1'));
  });

  it('a claim stands in the queue behind readers, and is told how long they have it', async () => {
    await read('R1');
    // Java has made the lock last longer than its reader.
    await redis.admin.pexpire('k', 60_000);
    const answer = await claim('A1');
    expect(answer).toMatchObject(busy);
    expect((answer as { remainingMs: number }).remainingMs).toBeLessThanOrEqual(READ_MS);
    expect(await look()).toMatchObject({ ...standing('A1'), writers: ['A1'], writersTurn: 1 });
  });
});
