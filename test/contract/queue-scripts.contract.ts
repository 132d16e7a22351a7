import { describe, expect, it } from '@jest/globals';
import { deliveries } from '../support/deliver.js';
import { timed } from '../support/moments.js';
import {
  ALIVE_MS,
  FREE,
  LEASE_MS,
  busy,
  CLAIM_MS,
  granted,
  handedTo,
  heldBy,
  leaveArgs,
  seen,
  standing,
  type Queued,
  useQueueScripts,
} from '../support/queue-scripts.js';
import { ownerOf, processOf } from '../support/queue-view.js';
import type { QueueKindUnderTest } from '../support/queue-kinds.js';

const MOST_SWEPT = 32;

/** Each script of a lock that is handed on does its work once, however often it is delivered. */
export function describeQueueScripts(name: string, kind: QueueKindUnderTest): void {
  describe(`the scripts of ${name} that is handed on`, () => {
    const scripts = useQueueScripts(kind);
    const { claim, claimFenced, enter, leave, leaveSome, pass, passInOrder, cancel } = scripts;
    const { look, stand, standDead, hold, redis, ear, view } = scripts;
    const freed = kind.freed.map((message) => `all: ${message}`);

    /** Each state of the lock before a script of A1 runs, and the view of it. */
    const LOCKS: Record<string, readonly [write: () => Promise<unknown>, lock: object]> = {
      'a free lock': [async () => undefined, {}],
      'our lock': [() => hold('A1', 1), { A1: '1' }],
      'our lock, entered three times': [() => hold('A1', 3), { A1: '3' }],
      'our lock, handed over and not entered': [() => hold('A1', 0), { A1: '0' }],
      "another owner's lock": [() => hold('X1', 1), { X1: '1' }],
      "another owner's lock, handed over": [() => hold('X1', 0), { X1: '0' }],
      "a lock of our process's": [() => hold('A7', 1), { A7: '1' }],
      'another kind of lock': [
        async () => {
          await redis.admin.hset('k', kind.other.fields);
          await timed(redis.admin, () => redis.admin.pexpire('k', LEASE_MS));
        },
        kind.other.seen,
      ],
      'a string': [() => timed(redis.admin, () => redis.admin.set('k', 'x', 'PX', LEASE_MS)), {}],
    };
    type LockState = keyof typeof LOCKS;

    /** Each state of the queue before a script runs, and the view of it. */
    const QUEUES: Record<string, readonly [write: () => Promise<unknown>, queue: Queued]> = {
      'no process in the queue': [async () => undefined, standing()],
      'others in the queue': [
        async () => {
          await stand('B1');
          await stand('C1');
        },
        standing('B1', 'C1'),
      ],
      'ourselves and another in the queue': [
        async () => {
          await stand('A1');
          await stand('B1');
        },
        standing('A1', 'B1'),
      ],
      'another caller of our process in the queue': [() => stand('A9'), standing('A9')],
      'a dead process in the queue': [
        () => stand('D1', { aliveMs: -1_000 }),
        { queue: ['D'], claims: { D: seen('D1', -1) } },
      ],
    };

    describe.each([1, 3])('delivered %d times in a row', (times) => {
      const repeatedly = deliveries(redis, times, look);

      describe.each(Object.entries(QUEUES))('%s', (_, [writeQueue, queue]) => {
        /** Without the place and the claim of A. */
        const withoutUs = ({ queue, claims: { A: _ours, ...others } }: Queued): Queued => ({
          queue: queue.filter((process) => process !== 'A'),
          claims: others,
        });

        it.each([
          ['a free lock', { A1: '1' }],
          ['our lock', { A1: '1' }],
          ['our lock, entered three times', { A1: '3' }],
          ['our lock, handed over and not entered', { A1: '1' }],
        ] as [LockState, object][])(
          'claim takes %s, and leaves the queue',
          async (state, after) => {
            await LOCKS[state]?.[0]();
            await writeQueue();
            expect(await repeatedly(() => claim('A1'))).toEqual(granted);
            const expected = { ...FREE, lock: after, leaseS: 30, ...withoutUs(queue) };
            expect(await look()).toEqual(expected);
          },
        );

        it.each([
          ['another kind of lock', kind.other.refused],
          ['a string', 'WRONGTYPE'],
        ] as [LockState, string][])(
          'claim refuses %s, and is not remembered',
          async (state, why) => {
            const [write, lock] = LOCKS[state] ?? [];
            await write?.();
            await writeQueue();
            await expect(repeatedly(() => claim('A1'))).rejects.toThrow(why);
            expect(await look()).toEqual({ ...FREE, lock, leaseS: 30, ...queue });
          },
        );

        it.each([
          ...['a free lock', "another owner's lock", "another owner's lock, handed over"],
          ...["a lock of our process's", 'another kind of lock'],
        ] as LockState[])('no release changes %s, or notifies a waiter', async (state) => {
          const [write, lock] = LOCKS[state] ?? [];
          await write?.();
          await writeQueue();
          await ear.listen('BC');
          await ear.listenToAll();
          const [before, written] = [await look(), await view.written()];
          expect(before.lock).toEqual(lock);
          expect(await repeatedly(() => leave('A1'))).toBe('absent');
          expect(await repeatedly(() => leaveSome('A1', 1))).toBe('absent');
          expect(await repeatedly(() => pass('A1', 'A2'))).toBe('absent');
          expect(await repeatedly(() => passInOrder('A1', 'A2'))).toBe('absent');
          expect(await view.written()).toEqual(written);
          expect(await repeatedly(() => cancel('A1'))).toBe('absent');
          const isOurs = before.claims.A === seen('A1');
          if (isOurs) expect(await look()).toEqual({ ...before, ...withoutUs(before) });
          else expect(await view.written()).toEqual(written);
          expect(await ear.heard()).toEqual([]);
        });

        it('releases refuse a string, and cancel leaves it alone', async () => {
          await LOCKS['a string']?.[0]();
          await writeQueue();
          const before = await view.written();
          for (const call of [leave('A1'), pass('A1', 'A2'), passInOrder('A1', 'A2')]) {
            await expect(call).rejects.toThrow('WRONGTYPE');
          }
          expect(await view.written()).toEqual(before);
          expect(await repeatedly(() => cancel('A1'))).toBe('absent');
          expect(await redis.admin.get('k')).toBe('x');
        });
      });

      it('a successor enters what it got', async () => {
        await enter('A1');
        await pass('A1', 'A2', { starts: 0, leaseMs: CLAIM_MS });
        expect(await repeatedly(() => enter('A2'))).toEqual(granted);
        expect(await look()).toEqual(heldBy('A2'));
      });

      it('claim goes before all that come later, also after the clock was set back', async () => {
        await hold('X1', 1);
        await stand('B1', { sinceMs: -60_000 });
        await stand('C1', { sinceMs: 1 });
        for (let i = 0; i < times; i += 1) expect(await claim('B1')).toMatchObject(busy);
        expect(await claim('E1')).toMatchObject(busy);
        expect((await look()).queue).toEqual(['C', 'B', 'E']);
      });

      it('claim never shortens the lease, and prolongs it when more is asked for', async () => {
        await enter('A1');
        await repeatedly(() => claim('A1', 5_000));
        expect(await look()).toEqual(heldBy('A1', 1, 30));
        await repeatedly(() => claim('A1', 60_000));
        expect(await look()).toEqual(heldBy('A1', 1, 60));
      });

      it('claim-fenced hands out one token for one hold, also for one that was handed over', async () => {
        const first = (await repeatedly(() => claimFenced('A1'))) as number;
        expect(first).toBeGreaterThan(0);
        expect(await repeatedly(() => claimFenced('B1'))).toMatchObject(busy);
        expect(Number(await redis.admin.get(view.keys.token ?? ''))).toBe(first);
        await redis.admin.hset(view.keys.claims ?? '', processOf('B'), `1 9999999999999 b1 5000 e`);
        await ear.listen('B');
        await leave('A1');
        expect(await look()).toEqual(handedTo('B1', 0));
        const second = (await repeatedly(() => claimFenced('B1'))) as number;
        expect(second).toBeGreaterThan(first);
        expect(await look()).toEqual(heldBy('B1'));
        expect(Number(await redis.admin.get(view.keys.token ?? ''))).toBe(second);
      });

      it('claim-fenced takes no lock when the token of the queue is none', async () => {
        await redis.admin.set(view.keys.token ?? '', 'abc');
        view.foreign.add('token');
        await expect(repeatedly(() => claimFenced('A1'))).rejects.toThrow('LOCKSTATE');
        expect(await look()).toEqual(FREE);
      });

      it.each(['leave', 'cancel'])(
        '%s takes those out of the queue that have held it before, and no waiter',
        async (name) => {
          const release = name === 'leave' ? leave : cancel;
          await ear.listen('AB');
          for (const [stale, next] of [
            ['A1', 'B1'],
            ['A2', 'B1'],
            ['A10', 'A10'],
          ] as const) {
            await redis.admin.flushall();
            await hold('A2', 1);
            await stand(stale, { mode: 'poll' });
            await stand('B1', { mode: 'poll' });
            for (let time = 0; time < times; time += 1) await release('A2');
            const rest = next === 'B1' ? FREE : standing('B1');
            expect((await look()).lock).toEqual({ [next]: '0' });
            expect((await look()).queue).toEqual(rest.queue);
          }
        },
      );

      it('pass-in-order gives it to its successor once, if no other process waits', async () => {
        await ear.listenToAll();
        await enter('A1');
        await stand('A8');
        const passing = () => passInOrder('A1', 'A2', { starts: 0 });
        expect(await repeatedly(passing, 'had')).toBe('passed');
        expect(await look()).toEqual(heldBy('A2', 0));
        expect(await ear.heard()).toEqual([]);
      });

      it('cancel hands over once what it was granted', async () => {
        await ear.listen('BC');
        await ear.listenToAll();
        await enter('A1');
        await claim('B1');
        await claim('C1');
        await leave('A1');
        const answers = [];
        for (let time = 0; time < times; time += 1) answers.push(await cancel('B1'));
        expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
        expect(await look()).toEqual(handedTo('C1'));
        expect(await ear.heard()).toEqual(['B: 1 b1', 'C: 1 c1']);
      });
    });

    describe('who is next', () => {
      const RELEASES: [string, (owner: string) => Promise<string>][] = [
        ['leave', (owner) => leave(owner)],
        ['cancel', (owner) => cancel(owner)],
        ['pass-in-order', (owner) => passInOrder(owner, 'A2')],
      ];
      /** No waiter is next: the lock is free, or the successor's. */
      const NO_WAITER = undefined;
      const cases: [
        string,
        () => Promise<void>,
        next: [string, number] | undefined,
        heard: string[],
      ][] = [
        ['no process waits', async () => undefined, NO_WAITER, []],
        ['one that starts waits', () => stand('B1'), ['B1', 1], ['B: 1 b1']],
        [
          'one that enters by itself waits',
          () => stand('B2', { mode: 'enter' }),
          ['B2', 0],
          ['B: 2 b2'],
        ],
        [
          'one that polls waits, and is not told',
          () => stand('B1', { mode: 'poll' }),
          ['B1', 0],
          [],
        ],
        [
          'one that polls is not heard of any more',
          () => stand('B1', { mode: 'poll', aliveMs: -1 }),
          NO_WAITER,
          [],
        ],
        ['one that no message reaches waits', () => stand('F1'), NO_WAITER, []],
        [
          'one that no message reaches enters by itself',
          () => stand('F1', { mode: 'enter' }),
          NO_WAITER,
          [],
        ],
        ['one is not heard of any more', () => stand('B1', { aliveMs: -1 }), NO_WAITER, []],
        ['a claim cannot be read', () => stand('B1', { record: '1 x b1 5000 s' }), NO_WAITER, []],
        [
          'a claim is worth nothing',
          () => stand('B1', { record: '1 9999999999999 b1 0 s' }),
          NO_WAITER,
          [],
        ],
        [
          'a claim is worth more than a key can live',
          () => stand('B1', { record: `1 9999999999999 b1 ${'9'.repeat(19)} s` }),
          NO_WAITER,
          [],
        ],
        [
          'there is a place without a claim',
          async () => {
            await stand('B1');
            await redis.admin.del(view.keys.claims ?? '');
          },
          NO_WAITER,
          [],
        ],
        [
          'one behind the dead waits',
          async () => {
            await stand('D1', { aliveMs: -1 });
            await stand('F1');
            await stand('E1', { record: 'nothing' });
            await stand('B1');
          },
          ['B1', 1],
          ['B: 1 b1'],
        ],
        [
          'as many dead are ahead as one script takes away with the living',
          async () => {
            await standDead(MOST_SWEPT - 1);
            await stand('B1');
          },
          ['B1', 1],
          ['B: 1 b1'],
        ],
      ];

      describe.each(RELEASES)('%s', (name, release) => {
        const isInOrder = name === 'pass-in-order';

        it.each(cases)('%s', async (_, write, next, heard) => {
          await ear.listen('ABC');
          await enter('A1');
          await write();
          await ear.listenToAll();
          if (next === NO_WAITER) {
            expect(await release('A1')).toBe(isInOrder ? 'passed' : 'done');
            expect(await look()).toEqual(isInOrder ? heldBy('A2') : FREE);
            expect(await ear.heard()).toEqual(isInOrder ? [] : freed);
          } else {
            expect(await release('A1')).toBe('done');
            expect(await look()).toEqual({
              ...handedTo(...next),
              ...(isInOrder && standing('A2')),
            });
            expect(await ear.heard()).toEqual(heard);
          }
        });

        it('leaves those alone who stand behind the next', async () => {
          await ear.listen('BC');
          await enter('A1');
          await stand('B1');
          await stand('C1', { aliveMs: -2_000 });
          await stand('E1');
          await release('A1');
          const after = await look();
          expect(after.lock).toEqual({ B1: '1' });
          expect(after.queue).toEqual(isInOrder ? ['C', 'E', 'A'] : ['C', 'E']);
          expect(after.claims).toMatchObject({ C: seen('C1', -2), E: seen('E1') });
        });

        it('takes away so many of the dead, and the rest the next time', async () => {
          await ear.listen('BA');
          await ear.listenToAll();
          await enter('A1');
          await standDead(MOST_SWEPT);
          await stand('B1');
          expect(await release('A1')).toBe(isInOrder ? 'passed' : 'done');
          expect(await look()).toEqual({ ...(isInOrder ? heldBy('A2') : FREE), ...standing('B1') });
          expect(await ear.heard()).toEqual(isInOrder ? [] : freed);
          if (!isInOrder) await enter('A2');
          expect(await leave('A2')).toBe('done');
          expect(await look()).toEqual(handedTo('B1'));
        });
      });

      it('is another caller of the process of which one cancels', async () => {
        await ear.listen('AB');
        await enter('A1');
        await stand('A2');
        await stand('B1');
        expect(await cancel('A1')).toBe('done');
        expect(await look()).toEqual({ ...handedTo('A2'), ...standing('B1') });
        expect(await ear.heard()).toEqual(['A: 2 a2']);
      });

      it('is believed to wait for as long as it said when it asked last', async () => {
        await enter('A1');
        await stand('B1', { aliveMs: 500 });
        await redis.admin.pexpire(view.keys.queue ?? '', 500);
        await redis.admin.pexpire(view.keys.claims ?? '', 500);
        await claim('B1');
        expect(await look()).toEqual({ ...heldBy('A1'), ...standing('B1') });
        for (const key of ['queue', 'claims']) {
          const ttlMs = await redis.admin.pttl(view.keys[key] ?? '');
          expect(ttlMs).toBeGreaterThan(ALIVE_MS - 1_000);
        }
      });

      it('is not told apart by who hears it, where a node of a Cluster counts for itself only', async () => {
        await enter('A1');
        await stand('F1');
        const { lua } = kind.leave.inMode.broadcast();
        await view.run({ ...kind.leave, lua }, { owner: ownerOf('A1'), ...leaveArgs });
        expect(await look()).toEqual(handedTo('F1'));
      });
    });

    describe('one that gives up', () => {
      it.each([0, 1, 3])('frees what it has, whatever its count (%d)', async (count) => {
        await ear.listenToAll();
        await hold('A1', count);
        expect(await cancel('A1')).toBe('done');
        expect(await look()).toEqual(FREE);
        expect(await ear.heard()).toEqual(freed);
      });
    });
  });
}
