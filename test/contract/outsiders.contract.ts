import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { STAND_BACK_MS } from '../../libs/redis-lock/src/core/waiting/outsiders.js';
import { LONGEST_OPEN_MS } from '../../libs/redis-lock/src/primitives/lua/outsiders.lua.js';
import { nodesChannel } from '../../libs/redis-lock/src/core/redis/key-names.js';
import {
  FREE,
  LEASE_MS,
  busy,
  CLAIM_MS,
  claimArgs,
  claimOf,
  granted,
  handedTo,
  heldBy,
  leaveArgs,
  passArgs,
  standing,
  useQueueScripts,
} from '../support/queue-scripts.js';
import { serverNow } from '../support/moments.js';
import { ownerOf, type Values } from '../support/queue-view.js';
import type { QueueKindUnderTest } from '../support/queue-kinds.js';

const OPENED_TTL_MS = 3_000;
const DUE = 5;

/** Lua: PUBSUB counts as Valkey 9.1 does while it resizes a table. */
const WRONG_COUNT = `local redis = {
  call = function(...) return redis.call(...) end,
  error_reply = redis.error_reply,
  pcall = function(command, ...)
    return command == 'pubsub' and { '', 336382119, '', 1 } or redis.pcall(command, ...)
  end,
}
`;

/** Those who are in no queue, as Java services are. */
export function describeOutsiders(name: string, kind: QueueKindUnderTest): void {
  describe(`outsiders, to whom the scripts of the queue leave ${name} for as many sections`, () => {
    const freed = kind.freed.map((message) => `all: ${message}`);
    const { look, claim, enter, leave, passInOrder, stand, hold, redis, ear, view } =
      useQueueScripts(kind);

    const others: Redis[] = [];
    afterEach(() => {
      for (const other of others.splice(0)) other.disconnect();
    });
    /** So many processes of ours that wait, besides. */
    const listenAsNodes = async (count: number) => {
      for (let i = 0; i < count; i += 1) {
        const node = new Redis(redis.url, { connectionName: 'test-ear', disconnectTimeout: 50 });
        others.push(node);
        await node.subscribe(kind.channel, nodesChannel(kind.channel));
      }
    };
    /** `B1` waits, and an outsider listens for announcements. */
    const begin = async () => {
      await ear.listen('AB');
      await ear.listenToAll();
      await hold('A1', 1);
      await stand('B1');
    };

    const ours = { owner: ownerOf('A1') };
    const passing = { ...passArgs, successor: ownerOf('A2'), claim: claimOf('A2') };
    const RELEASES: [string, QueueKindUnderTest['leave'], Values][] = [
      ['leave', kind.leave, ours],
      ['cancel', kind.cancel, ours],
      ['pass-in-order', kind.passInOrder, { ...ours, ...passing }],
    ];

    describe.each(RELEASES)('%s', (name, script, args) => {
      const isInOrder = name === 'pass-in-order';
      const release = (due = DUE, by = script) => view.run(by, { ...args, due });
      const opened = (...owners: string[]) => ({
        ...{ ...FREE, ...standing(...owners, ...(isInOrder ? ['A2'] : [])), isReserved: true },
      });
      const handedOver = { ...handedTo('B1'), ...(isInOrder && standing('A2')) };

      it('leaves it for so many sections, and for a second at most', async () => {
        await begin();
        const sentAt = await serverNow(redis.admin);
        expect(await release()).toBe('reserved');
        const { untilMs, sections, unused, ttlMs, now } = await view.window();
        expect(await look()).toEqual(opened('B1'));
        expect(untilMs - LONGEST_OPEN_MS).toBeGreaterThanOrEqual(sentAt);
        expect(untilMs - LONGEST_OPEN_MS).toBeLessThanOrEqual(now);
        expect([sections, unused]).toEqual([DUE, 1]);
        expect(ttlMs).toBeGreaterThan(OPENED_TTL_MS - (now - sentAt) - 5);
        expect(await ear.heard()).toEqual(freed);
      });

      it('leaves it also if no process is in the queue', async () => {
        await ear.listenToAll();
        await hold('A1', 1);
        expect(await release()).toBe('reserved');
        expect(await look()).toEqual(opened());
        expect(await ear.heard()).toEqual(freed);
      });

      it.each([0, 3])('does not to processes of ours (%d)', async (nodes) => {
        await begin();
        await ear.stopListeningToAll();
        await listenAsNodes(nodes);
        expect(await release()).toBe('done');
        expect(await look()).toEqual(handedOver);
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('does not if only ours listen, and no process is in the queue', async () => {
        await listenAsNodes(2);
        await hold('A1', 1);
        expect(await release()).toBe(isInOrder ? 'passed' : 'done');
        expect(await look()).toEqual(isInOrder ? heldBy('A2') : FREE);
      });

      it('never does with 0', async () => {
        await begin();
        expect(await release(0)).toBe('done');
        expect(await look()).toEqual(handedOver);
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('leaves it again within their window, which goes on', async () => {
        await begin();
        const untilMs = await view.setWindow(500, 2);
        expect(await release()).toBe('reserved');
        expect(await view.window()).toMatchObject({ untilMs, sections: 2, unused: 1 });
        expect(await look()).toEqual(opened('B1'));
      });

      it.each([
        [-1, 2, 3],
        [-1, 0, 3],
        // The clock was set back.
        [LONGEST_OPEN_MS + 100_000, 2, 3],
      ])('opens a new one after the last (%d ms, %d sections)', async (leftMs, was, then) => {
        await begin();
        await view.setWindow(leftMs, was, 2);
        expect(await release()).toBe('reserved');
        expect(await view.window()).toMatchObject({ sections: DUE, unused: then });
      });

      it.each([
        [-3, DUE - 3],
        [1 - DUE, 1],
      ])('opens a shorter one after they had too many (%d)', async (was, then) => {
        await begin();
        await view.setWindow(-1, was, 0);
        expect(await release()).toBe('reserved');
        expect(await view.window()).toMatchObject({ sections: then, unused: 1 });
      });

      it.each([
        [-DUE, 0],
        [-DUE - 4, -4],
      ])('hands over while they had too many (%d)', async (was, then) => {
        await begin();
        await view.setWindow(-1, was, 0);
        expect(await release()).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isReserved: true });
        expect(await view.window()).toMatchObject({ sections: then, unused: 0 });
      });

      it('hands over until the next one may begin', async () => {
        await begin();
        await view.setWindow(900, 0);
        expect(await release()).toBe('done');
        expect(await look()).toEqual({ ...handedOver, isReserved: true });
        expect(await ear.heard()).toEqual(['B: 1 b1', 'all: 00']);
      });

      it('says nothing of a lease that ends no sooner', async () => {
        await begin();
        await view.setWindow(900, 0);
        await redis.admin.pexpire('k', CLAIM_MS);
        expect(await release()).toBe('done');
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      const UNCOUNTED: [string, typeof script][] = [
        ['Redis cannot count them', { ...script, ...script.inMode.broadcast() }],
        ['a server counts wrongly', { ...script, lua: WRONG_COUNT + script.lua }],
      ];
      it.each(UNCOUNTED)('does so once a second where %s', async (_, by) => {
        await begin();
        const sentAt = await serverNow(redis.admin);
        expect(await release(DUE, by)).toBe('done');
        const { untilMs, sections, unused } = await view.window();
        expect(untilMs - LONGEST_OPEN_MS).toBeGreaterThanOrEqual(sentAt);
        expect(sections).toBe(0);
        await redis.admin.del('k');
        await hold('A1', 1);
        await view.setWindow(-1, 0, unused);
        expect(await release(DUE, by)).toBe('reserved');
      });
    });

    describe('those in the queue', () => {
      const CLAIMS = [kind.claim, kind.claimFenced];
      const claimWith = (script: QueueKindUnderTest['claim'], owner: string, past = 0, ended = 0) =>
        view.run(script, { ...claimArgs(owner), claim: claimOf(owner, 'start', past, ended) });

      it.each(CLAIMS)('stand back, and learn the window', async (script) => {
        const untilMs = await view.setWindow(900, DUE);
        const window = { untilMs, sections: DUE };
        expect(await claimWith(script, 'B1')).toEqual({
          ...{ ...busy, remainingMs: STAND_BACK_MS, window },
        });
        expect(await claimWith(script, 'C1', untilMs - 1)).toMatchObject({ ...busy, window });
        expect(await look()).toEqual({ ...FREE, ...standing('B1', 'C1'), isReserved: true });
      });

      it.each(CLAIMS)('see that an outsider uses it', async (script) => {
        const untilMs = await view.setWindow(900, DUE, 3);
        await hold('X1', 1);
        const answer = { ...busy, window: { untilMs, sections: DUE } };
        expect(await claimWith(script, 'B1')).toMatchObject(answer);
        expect(await claimWith(script, 'B1', untilMs)).toMatchObject(answer);
        expect(await view.window()).toMatchObject({ untilMs, sections: DUE, unused: 0 });
      });

      it.each([
        ['saw outsiders', 0, 0, DUE],
        ['heard some', 2, 3, DUE - 2],
        ['heard too many', DUE + 3, 3, -3],
        ['heard far too many', DUE + 1_000, 3, -64],
      ])('end it when they have stood back and %s', async (_, heard, unused, sections) => {
        for (const script of CLAIMS) {
          const untilMs = await view.setWindow(900, DUE, unused);
          expect(await claimWith(script, 'B1', untilMs, heard)).toMatchObject({ kind: 'granted' });
          expect(await look()).toEqual({ ...heldBy('B1'), isReserved: true });
          const window = await view.window();
          expect(window).toMatchObject({ sections, unused: 0 });
          expect(window.untilMs).toBeLessThanOrEqual(window.now);
          await redis.admin.del('k');
        }
      });

      it.each([
        [1, 40],
        [3, 160],
        [5, 640],
        [6, LONGEST_OPEN_MS],
        [50, LONGEST_OPEN_MS],
      ])('have it for longer after %d windows that no outsider used: %d ms', async (unused, ms) => {
        for (const script of CLAIMS) {
          const untilMs = await view.setWindow(900, DUE, unused);
          const sentAt = await serverNow(redis.admin);
          expect(await claimWith(script, 'B1', untilMs)).toMatchObject({ kind: 'granted' });
          const window = await view.window();
          expect(window).toMatchObject({ sections: 0, unused });
          expect(window.untilMs - ms).toBeGreaterThanOrEqual(sentAt);
          expect(window.untilMs - ms).toBeLessThanOrEqual(window.now);
          await redis.admin.del('k');
        }
      });

      it.each([
        ['it is over', -1, DUE],
        ['there is none', 900, 0],
        ['the clock was set back', 100_000, DUE],
      ])('get in when %s', async (_, leftMs, sections) => {
        for (const script of CLAIMS) {
          await view.setWindow(leftMs, sections);
          expect(await claimWith(script, 'B1')).toMatchObject({ kind: 'granted' });
          await redis.admin.del('k');
        }
      });

      it('enter what was handed to them at any time', async () => {
        await hold('B1', 0);
        await view.setWindow(900, DUE);
        for (const script of CLAIMS) {
          expect(await claimWith(script, 'B1')).toMatchObject({ kind: 'granted' });
        }
      });
    });

    it('are not kept from it by a first attempt, after which they get it again', async () => {
      await begin();
      expect(await leave('A1', { due: DUE })).toBe('reserved');
      expect(await claim('B1')).toMatchObject(busy);
      const { untilMs } = await view.window();
      expect(await enter('X1')).toEqual(granted);
      expect(await leave('X1', { ...leaveArgs, due: DUE })).toBe('reserved');
      expect(await view.window()).toMatchObject({ untilMs });
      expect(await ear.heard()).toEqual([...freed, ...freed]);
    });

    it.each([
      [LEASE_MS - 1_000, ['all: 00']],
      [LEASE_MS, []],
      [LEASE_MS + 1_000, []],
    ])('are told if a successor has it for %d ms, and no longer', async (leaseMs, told) => {
      await ear.listenToAll();
      await hold('A1', 1);
      await view.setWindow(900, 0);
      expect(await passInOrder('A1', 'A2', { leaseMs, due: DUE })).toBe('passed');
      expect(await ear.heard()).toEqual(told);
    });
  });
}
