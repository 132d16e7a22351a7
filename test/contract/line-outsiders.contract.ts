import { describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import {
  FREE,
  LEASE_MS,
  busy,
  CLAIM_MS,
  claimArgs,
  granted,
  handedTo,
  heldBy,
  leaveArgs,
  standing,
  useLineScripts,
} from '../support/line-scripts.js';
import { ownerOf } from '../support/line-view.js';
import { STAND_BACK_MS } from '../../libs/redis-lock/src/core/hand-off.js';
import type { LineKindUnderTest } from '../support/line-kinds.js';

const OPENED_TTL_MS = 3_000;

/** Those who are in no line, as Java services are. */
export function describeLineOutsiders(name: string, kind: LineKindUnderTest): void {
  describe(`outsiders, to whom the scripts of the line leave ${name} now and then`, () => {
    const freed = kind.freed.map((message) => `all: ${message}`);
    const { look, claim, enter, leave, takeTurns, withdraw, stand, hold, redis, ear, view } =
      useLineScripts(kind);

    const openEveryMs = 1_000;
    /** `B1` has it for as long as its claim says, which is shorter than what was left. */
    const toldShorter = ['B: 1 b1', 'all: 00'];
    const long = { sinceMs: openEveryMs };
    /** `B1` waits, and an outsider hears what is announced. */
    const begin = async (claiming = {}) => {
      await ear.listen('AB');
      await ear.listenToAll();
      await hold('A1', 1);
      await stand('B1', claiming);
    };
    const RELEASES: [string, (everyMs?: number, waitedMs?: number) => Promise<string>][] = [
      ['leave', (everyMs = openEveryMs) => leave('A1', { openEveryMs: everyMs })],
      ['withdraw', (everyMs = openEveryMs) => withdraw('A1', everyMs)],
      [
        'take-turns',
        (everyMs = openEveryMs, waitedMs = 0) =>
          takeTurns('A1', 'A2', { openEveryMs: everyMs, waitedMs }),
      ],
    ];

    describe.each(RELEASES)('%s', (name, release) => {
      const isTurn = name === 'take-turns';
      const opened = (...owners: string[]) => ({
        ...{ ...FREE, ...standing(...owners, ...(isTurn ? ['A2'] : [])), isOpened: true },
      });
      const handedOver = { ...handedTo('B1'), ...(isTurn && standing('A2')) };

      it('leaves the lock to them when somebody has waited for long enough', async () => {
        await begin(long);
        const sentAt = await view.now();
        expect(await release(openEveryMs, openEveryMs)).toBe('opened');
        const { nextMs, untilMs, ttlMs, now } = await view.door();
        expect(await look()).toEqual(opened('B1'));
        expect(nextMs).toBeGreaterThanOrEqual(sentAt + openEveryMs);
        expect(nextMs).toBeLessThanOrEqual(now + openEveryMs);
        expect(nextMs - untilMs).toBe(openEveryMs - STAND_BACK_MS);
        expect(ttlMs).toBeGreaterThan(OPENED_TTL_MS - (now - sentAt) - 5);
        expect(await ear.heard()).toEqual(freed);
      });

      it('begins to count when somebody waits, and hands over', async () => {
        await begin();
        const sentAt = await view.now();
        expect(await release()).toBe('done');
        const { nextMs, untilMs, ttlMs, now } = await view.door();
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
        expect(nextMs).toBeGreaterThanOrEqual(sentAt + openEveryMs);
        expect(nextMs).toBeLessThanOrEqual(now + openEveryMs);
        expect(untilMs).toBe(0);
        expect(ttlMs).toBeGreaterThan(OPENED_TTL_MS - (now - sentAt) - 5);
        expect(await ear.heard()).toEqual(toldShorter);
      });

      it.each([500, openEveryMs - 1])(
        'hands over until it is time, in %d ms, however long somebody has waited',
        async (leftMs) => {
          await begin({ sinceMs: 7_000 });
          // What is left may be less by then, but not more.
          await view.setDoor(leftMs);
          const before = await redis.admin.get(view.keys.opened ?? '');
          expect(await release(openEveryMs, 7_000)).toBe('done');
          expect(await look()).toEqual({ ...handedOver, isOpened: true });
          expect(await redis.admin.get(view.keys.opened ?? '')).toBe(before);
          expect(await ear.heard()).toEqual(toldShorter);
        },
      );

      it('says nothing of a lease that ends no sooner', async () => {
        await begin();
        await redis.admin.pexpire('k', CLAIM_MS);
        expect(await release()).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it.each([
        ['it is time', 0],
        ['it was time', -2_000],
        ['the clock was set back', openEveryMs + 3_000],
      ])('opens when %s, however short somebody has waited', async (_, leftMs) => {
        await begin();
        await view.setDoor(leftMs);
        expect(await release()).toBe('opened');
        expect(await look()).toEqual(opened('B1'));
        const { nextMs, untilMs, now } = await view.door();
        expect(nextMs).toBeGreaterThan(now);
        expect(nextMs - untilMs).toBe(openEveryMs - STAND_BACK_MS);
        expect(await ear.heard()).toEqual(freed);
      });

      it('opens when it is time, also if nobody else is in line', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        await view.setDoor(0);
        expect(await release()).toBe('opened');
        expect(await look()).toEqual(opened());
        expect(await ear.heard()).toEqual(freed);
      });

      it('does not if nobody else is in line, and it is not time', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        await view.setDoor(500);
        const before = await redis.admin.get(view.keys.opened ?? '');
        expect(await release()).toBe(isTurn ? 'passed' : 'done');
        expect(await look()).toEqual({ ...(isTurn ? heldBy('A2') : FREE), isOpened: true });
        expect(await redis.admin.get(view.keys.opened ?? '')).toBe(before);
        expect(await ear.heard()).toEqual(isTurn ? [] : freed);
      });

      it('counts only where somebody waits', async () => {
        await hold('A1', 1);
        expect(await release()).toBe(isTurn ? 'passed' : 'done');
        // The heir is one that waits.
        expect(await look()).toEqual(isTurn ? { ...heldBy('A2'), isOpened: true } : FREE);
      });

      it('never opens with 0, and does not count', async () => {
        await begin({ sinceMs: 7_000 });
        expect(await release(0, 7_000)).toBe('done');
        expect(await look()).toEqual(handedOver);
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('never opens with 0, whatever was counted before', async () => {
        await begin();
        await view.setDoor(0);
        expect(await release(0)).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
      });

      it('hands over where no outsider hears it, and keeps nobody waiting meanwhile', async () => {
        await begin(long);
        await ear.stopListeningToAll();
        expect(await release(openEveryMs, openEveryMs)).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isOpened: true });
        const { nextMs, untilMs, now } = await view.door();
        expect(nextMs).toBeGreaterThan(now);
        expect(untilMs).toBe(0);
        await redis.admin.del('k');
        expect(await claim('C1')).toEqual(granted);
      });

      it('stands back for as long, however often the door opens', async () => {
        await begin();
        expect(await release(1)).toBe('opened');
        const { nextMs, untilMs } = await view.door();
        expect(untilMs - nextMs).toBe(STAND_BACK_MS - 1);
        await eventually(async () => (await claim('B1')).kind === 'granted');
      });
    });

    it.each([
      [0, false],
      [openEveryMs - 2, false],
      [openEveryMs - 1, true],
      [openEveryMs, true],
    ])('get it after the heir has waited for %d ms: take-turns (%s)', async (waitedMs, isTime) => {
      await ear.listenToAll();
      await hold('A1', 1);
      const answer = await takeTurns('A1', 'A2', { waitedMs, openEveryMs });
      expect(answer).toBe(isTime ? 'opened' : 'passed');
      const expected = isTime ? { ...FREE, ...standing('A2') } : heldBy('A2');
      expect(await look()).toEqual({ ...expected, isOpened: true });
    });

    it.each([
      [0, false],
      [openEveryMs / 2, false],
      [openEveryMs - 1, true],
      [openEveryMs, true],
    ])(
      'get it after the first in line has waited for %d ms: leave (%s)',
      async (sinceMs, isTime) => {
        await begin({ sinceMs });
        // It is the first that counts.
        await stand('C1', { sinceMs: -10 });
        expect(await leave('A1', { openEveryMs })).toBe(isTime ? 'opened' : 'done');
        expect((await look()).lock).toEqual(isTime ? {} : { B1: '1' });
      },
    );

    describe('those in line', () => {
      /** Claims as if the line had begun to stand back some time ago, by the clock of the server. */
      const claimWith = (leftMs: number, owner: string, script: LineKindUnderTest['claim']) => {
        const begin = `local time = redis.call('time')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local times = string.format('%.0f %.0f', nowMs + 500, nowMs + ${String(leftMs)})
redis.call('set', KEYS[${script.keys.indexOf('opened') + 1}], times, 'px', 3000)\n`;
        return view.run({ ...script, lua: begin + script.lua }, claimArgs(owner));
      };
      const CLAIMS = [kind.claim, kind.claimFenced];

      it.each([5, 10, STAND_BACK_MS])('stand back for the last %d ms of it', async (leftMs) => {
        await stand('B1');
        for (const [i, script] of CLAIMS.entries()) {
          for (const process of 'BC') {
            const answer = await claimWith(leftMs, `${process}${String(i + 1)}`, script);
            expect(answer).toMatchObject(busy);
            const { remainingMs } = answer as { remainingMs: number };
            expect(remainingMs).toBeGreaterThan(0);
            expect(remainingMs).toBeLessThanOrEqual(leftMs);
          }
        }
        expect(await look()).toEqual({ ...FREE, ...standing('B2', 'C2'), isOpened: true });
      });

      it.each([
        ['it is over', 0],
        ['it was over', -100],
        ['the clock was set back', STAND_BACK_MS + 5],
        ['the clock was set back by far', 100_000],
      ])('get in when %s', async (_, leftMs) => {
        for (const script of CLAIMS) {
          expect(await claimWith(leftMs, 'B1', script)).toMatchObject({ kind: 'granted' });
          expect(await look()).toEqual({ ...heldBy('B1'), isOpened: true });
          await redis.admin.del('k');
        }
      });

      it('enter what was handed to them at any time', async () => {
        await hold('B1', 0);
        for (const script of CLAIMS) {
          expect(await claimWith(10, 'B1', script)).toMatchObject({ kind: 'granted' });
        }
      });

      it('stand back from the very moment on, at whatever time that is', async () => {
        for (let time = 0; time < 20; time += 1) {
          await redis.admin.flushall();
          await begin(long);
          const leaving = { owner: ownerOf('A1'), ...leaveArgs, openEveryMs };
          const answers = await view.runAtOnce(
            [kind.leave, leaving],
            [kind.claim, claimArgs('B1')],
          );
          expect(answers).toEqual(['opened', { ...busy, remainingMs: expect.any(Number) }]);
        }
      });
    });

    it('enter it while the line stands back', async () => {
      await begin(long);
      await leave('A1', { openEveryMs });
      expect(await enter('X1')).toEqual(granted);
      expect(await look()).toEqual({ ...heldBy('X1'), ...standing('B1'), isOpened: true });
    });

    it.each([
      [LEASE_MS - 1_000, ['all: 00']],
      [LEASE_MS, []],
      [LEASE_MS + 1_000, []],
    ])('are told if an heir has it for %d ms, and no longer', async (leaseMs, told) => {
      await ear.listenToAll();
      await hold('A1', 1);
      expect(await takeTurns('A1', 'A2', { leaseMs, openEveryMs })).toBe('passed');
      expect(await ear.heard()).toEqual(told);
    });

    it('hand over to those in line, at whatever time they got it', async () => {
      const args = { ...leaveArgs, openEveryMs };
      for (let time = 0; time < 20; time += 1) {
        await redis.admin.flushall();
        await begin(long);
        const answers = await view.runAtOnce(
          [kind.leave, { ...args, owner: ownerOf('A1') }],
          [kind.enter, { owner: ownerOf('X1'), holdCount: 1, leaseMs: LEASE_MS }],
          [kind.leave, { ...args, owner: ownerOf('X1') }],
        );
        expect(answers).toEqual(['opened', granted, 'done']);
        expect((await look()).lock).toEqual({ B1: '1' });
      }
      const last = [...freed, ...toldShorter];
      expect((await ear.heard()).slice(-last.length)).toEqual(last);
    });
  });
}
