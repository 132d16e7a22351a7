import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { deliveries, NO_NUMBERS } from '../../../../../test/support/deliver.js';
import { eventually } from '../../../../../test/support/eventually.js';
import {
  LineView,
  ownerOf,
  processOf,
  useListeners,
  type Values,
} from '../../../../../test/support/line-view.js';
import { useRedis } from '../../../../../test/support/redis-server.js';
import { STAND_BACK_MS, writtenClaim } from '../../core/hand-off.js';
import { ENTER } from '../../core/hash-lock.js';
import type { Script } from '../../core/script.js';
import {
  CLAIM,
  CLAIM_FENCED,
  LEAVE,
  PASS_ON,
  TAKE_TURNS,
  WITHDRAW,
} from './reentrant-lock.scripts.js';

const CHANNEL = 'redisson_lock__channel:{k}';
const LEASE_MS = 30_000;
/** What a grant by a claim is worth, and for how long whoever claims is believed to wait. */
const CLAIM_MS = 5_000;
const ALIVE_MS = 8_000;
const WEEK_MS = 7 * 24 * 60 * 60 * 1_000;
const MOST_SWEPT = 32;
const SCRIPTS = [CLAIM, CLAIM_FENCED, LEAVE, PASS_ON, TAKE_TURNS, WITHDRAW];

const granted = { kind: 'granted', fencingToken: undefined };
const busy = { kind: 'busy' };
const EMPTY = { lock: {}, leaseS: 0, line: [], claims: {}, isOpened: false };
const FREE = EMPTY;
const heldBy = (owner: string, count = 1, leaseS = LEASE_MS / 1_000) => ({
  ...EMPTY,
  ...{ lock: { [owner]: String(count) }, leaseS },
});
/** Handed over, for as long as its claim says. */
const handedTo = (owner: string, count = 1) => heldBy(owner, count, CLAIM_MS / 1_000);

type Manner = 'starts' | 'enters' | 'polls';
interface Claiming {
  readonly sinceMs?: number;
  readonly aliveMs?: number;
  readonly manner?: Manner;
  readonly record?: string;
}
interface InLine {
  readonly line: string[];
  readonly claims: Record<string, string>;
}
/** The claim of the owner B2 has the nonce b2. */
const nonceOf = (owner: string) => owner.toLowerCase();
const claimOf = (owner: string, manner: Manner = 'starts') =>
  writtenClaim({ aliveMs: ALIVE_MS, nonce: nonceOf(owner), leaseTimeMs: CLAIM_MS, manner });
/** As it is looked at, next to its process. */
const standing = (...owners: string[]) => ({
  line: owners.map((owner) => owner.charAt(0)),
  claims: Object.fromEntries(owners.map((owner) => [owner.charAt(0), seen(owner)])),
});
const seen = (owner: string, manner: Manner = 'starts', aliveS = ALIVE_MS / 1_000) =>
  `${owner.slice(1)} ${String(aliveS)} ${nonceOf(owner)} ${String(CLAIM_MS)} ${manner.charAt(0)}`;

describe('the scripts of the lock that is handed on', () => {
  const redis = useRedis();
  const ear = useListeners(redis, 'k', CHANNEL);
  let view: LineView;
  let order: number;
  beforeEach(() => {
    view = new LineView(redis, 'k');
    order = 0;
  });
  const look = () => view.look();

  const enter = (owner: string, holdCount = 1, leaseMs = LEASE_MS) =>
    view.run(ENTER, { owner: ownerOf(owner), holdCount, leaseMs });
  const claimArgs = (owner: string, manner?: Manner, leaseMs = LEASE_MS) => ({
    ...{ owner: ownerOf(owner), leaseMs, claim: claimOf(owner, manner), tokenTtlMs: WEEK_MS },
  });
  const claim = (owner: string, manner?: Manner, leaseMs?: number) =>
    view.run(CLAIM, claimArgs(owner, manner, leaseMs));
  const claimFenced = async (owner: string) => {
    const answer = await view.run(CLAIM_FENCED, claimArgs(owner));
    return answer.kind === 'granted' ? (answer.fencingToken ?? 0) : answer;
  };
  const leaveArgs = { holdCount: 0, channel: CHANNEL, openEveryMs: 0 };
  const leave = (owner: string, args: Partial<typeof leaveArgs> = {}) =>
    view.run(LEAVE, { owner: ownerOf(owner), ...leaveArgs, ...args });
  const passArgs = { leaseMs: LEASE_MS, starts: 1 };
  const passOn = (owner: string, heir: string, args: Partial<typeof passArgs> = {}) =>
    view.run(PASS_ON, { owner: ownerOf(owner), heir: ownerOf(heir), ...passArgs, ...args });
  const turnArgs = { ...passArgs, waitedMs: 0, channel: CHANNEL, openEveryMs: 0 };
  const takeTurns = (owner: string, heir: string, args: Partial<typeof turnArgs> = {}) =>
    view.run(TAKE_TURNS, {
      ...{ owner: ownerOf(owner), heir: ownerOf(heir), claim: claimOf(heir) },
      ...{ ...turnArgs, ...args },
    });
  const withdraw = (owner: string, openEveryMs = 0) =>
    view.run(WITHDRAW, { owner: ownerOf(owner), channel: CHANNEL, openEveryMs });

  /** Puts a claim into the line as it would be after `sinceMs`, without a script. */
  const stand = async (
    owner: string,
    { sinceMs = 0, aliveMs = ALIVE_MS, manner = 'starts', record = '' }: Claiming = {},
  ) => {
    const { queue = '', claims = '' } = view.keys;
    const now = await view.now();
    const process = processOf(owner.charAt(0));
    const terms = `${nonceOf(owner)} ${String(CLAIM_MS)} ${manner.charAt(0)}`;
    const written = record || `${owner.slice(1)} ${String(now + aliveMs)} ${terms}`;
    await redis.admin.zadd(queue, (now - sinceMs) * 1_000 + order++, process);
    await redis.admin.hset(claims, process, written);
    await redis.admin.pexpire(queue, ALIVE_MS);
    await redis.admin.pexpire(claims, ALIVE_MS);
  };
  /** Claims of processes that are gone: their time is over. */
  const standDead = async (count: number) => {
    for (let i = 0; i < count; i += 1) {
      await redis.admin.zadd(view.keys.queue ?? '', order++, `dead-${String(i)}`);
      await redis.admin.hset(view.keys.claims ?? '', `dead-${String(i)}`, `1 1 dd ${CLAIM_MS} s`);
    }
    for (const key of ['queue', 'claims']) {
      await redis.admin.pexpire(view.keys[key] ?? '', ALIVE_MS);
    }
  };
  const hold = async (owner: string, count: number) => {
    await redis.admin.hset('k', ownerOf(owner), count);
    await redis.admin.pexpire('k', LEASE_MS);
  };

  const READ_WRITE = { mode: 'write', [`${processOf('W')}:1:write`]: '1' };
  /** What the lock is before a script of A1 comes, and what is to be seen of it. */
  const LOCKS: Record<string, readonly [write: () => Promise<unknown>, lock: object]> = {
    'a free lock': [async () => undefined, {}],
    'our lock': [() => hold('A1', 1), { A1: '1' }],
    'our lock, entered three times': [() => hold('A1', 3), { A1: '3' }],
    'our lock, handed over and not entered': [() => hold('A1', 0), { A1: '0' }],
    "somebody else's lock": [() => hold('X1', 1), { X1: '1' }],
    "somebody else's lock, handed over": [() => hold('X1', 0), { X1: '0' }],
    "a lock of our process's": [() => hold('A7', 1), { A7: '1' }],
    'a read-write lock': [
      async () => {
        await redis.admin.hset('k', READ_WRITE);
        await redis.admin.pexpire('k', LEASE_MS);
      },
      { mode: 'write', [`W1:write`]: '1' },
    ],
    'a string': [() => redis.admin.set('k', 'x', 'PX', LEASE_MS), {}],
  };
  type LockState = keyof typeof LOCKS;

  /** Who stands in line, and what is to be seen of that. */
  const LINES: Record<string, readonly [write: () => Promise<unknown>, line: InLine]> = {
    'nobody in line': [async () => undefined, standing()],
    'others in line': [
      async () => {
        await stand('B1');
        await stand('C1');
      },
      standing('B1', 'C1'),
    ],
    'ourselves and another in line': [
      async () => {
        await stand('A1');
        await stand('B1');
      },
      standing('A1', 'B1'),
    ],
    'another caller of our process in line': [() => stand('A9'), standing('A9')],
    'somebody dead in line': [
      () => stand('D1', { aliveMs: -1_000 }),
      { line: ['D'], claims: { D: seen('D1', 'starts', -1) } },
    ],
  };

  describe.each([1, 2, 3])('delivered %d times in a row', (times) => {
    const repeatedly = deliveries(redis, times, look);

    describe.each(Object.entries(LINES))('%s', (_, [writeLine, line]) => {
      /** Without the place and the claim of A. */
      const withoutUs = ({ line, claims: { A: _ours, ...others } }: InLine): InLine => ({
        line: line.filter((process) => process !== 'A'),
        claims: others,
      });
      const withUs = ({ line, claims }: InLine): InLine => ({
        line: line.includes('A') ? line : [...line, 'A'],
        claims: { ...claims, A: seen('A1') },
      });

      it.each([
        ['a free lock', { A1: '1' }],
        ['our lock', { A1: '1' }],
        ['our lock, entered three times', { A1: '3' }],
        ['our lock, handed over and not entered', { A1: '1' }],
      ] as [LockState, object][])('claim takes %s, and leaves the line', async (state, after) => {
        await LOCKS[state]?.[0]();
        await writeLine();
        expect(await repeatedly(() => claim('A1'))).toEqual(granted);
        const expected = { ...EMPTY, lock: after, leaseS: 30, ...withoutUs(line) };
        expect(await look()).toEqual(expected);
      });

      it.each(["somebody else's lock", "somebody else's lock, handed over"] as LockState[])(
        'claim stands in line for %s, where it stood before',
        async (state) => {
          const [write, lock] = LOCKS[state] ?? [];
          await write?.();
          await writeLine();
          expect(await repeatedly(() => claim('A1'))).toMatchObject(busy);
          const expected = { ...EMPTY, lock, leaseS: 30, ...withUs(line) };
          expect(await look()).toEqual(expected);
        },
      );

      it.each([
        ['a read-write lock', 'LOCKSTATE it holds a read-write lock'],
        ['a string', 'WRONGTYPE'],
      ] as [LockState, string][])('claim refuses %s, and is not remembered', async (state, why) => {
        const [write, lock] = LOCKS[state] ?? [];
        await write?.();
        await writeLine();
        await expect(repeatedly(() => claim('A1'))).rejects.toThrow(why);
        expect(await look()).toEqual({ ...EMPTY, lock, leaseS: 30, ...line });
      });

      it.each([
        'a free lock',
        "somebody else's lock",
        "somebody else's lock, handed over",
        "a lock of our process's",
        'a read-write lock',
      ] as LockState[])('no release changes %s, or tells anybody', async (state) => {
        const [write, lock] = LOCKS[state] ?? [];
        await write?.();
        await writeLine();
        await ear.listen('BC');
        await ear.listenToAll();
        const before = await look();
        expect(before.lock).toEqual(lock);
        expect(await repeatedly(() => leave('A1'))).toBe('absent');
        expect(await repeatedly(() => leave('A1', { holdCount: 1 }))).toBe('absent');
        expect(await repeatedly(() => passOn('A1', 'A2'))).toBe('absent');
        expect(await repeatedly(() => takeTurns('A1', 'A2'))).toBe('absent');
        expect(await look()).toEqual(before);
        expect(await repeatedly(() => withdraw('A1'))).toBe('absent');
        const isOurs = before.claims.A === seen('A1');
        expect(await look()).toEqual({ ...before, ...(isOurs && withoutUs(before)) });
        expect(await ear.heard()).toEqual([]);
      });

      it('releases refuse a string, and withdraw leaves it alone', async () => {
        await LOCKS['a string']?.[0]();
        await writeLine();
        const before = await look();
        for (const call of [leave('A1'), passOn('A1', 'A2'), takeTurns('A1', 'A2')]) {
          await expect(call).rejects.toThrow('WRONGTYPE');
        }
        expect(await look()).toEqual(before);
        expect(await repeatedly(() => withdraw('A1'))).toBe('absent');
        expect(await redis.admin.get('k')).toBe('x');
      });

      it('leave goes down to the count it names, never up, and hands nothing over', async () => {
        await LOCKS['our lock, entered three times']?.[0]();
        await writeLine();
        await ear.listen('ABCD');
        await ear.listenToAll();
        const expected = { ...EMPTY, leaseS: 30, ...line };
        expect(await repeatedly(() => leave('A1', { holdCount: 2 }))).toBe('done');
        expect(await look()).toEqual({ ...expected, lock: { A1: '2' } });
        expect(await repeatedly(() => leave('A1', { holdCount: 3 }))).toBe('done');
        expect(await look()).toEqual({ ...expected, lock: { A1: '2' } });
        expect(await ear.heard()).toEqual([]);
      });

      it.each([
        'our lock',
        'our lock, entered three times',
        'our lock, handed over and not entered',
      ] as LockState[])('pass-on gives %s to the heir, whoever waits', async (state) => {
        await LOCKS[state]?.[0]();
        await writeLine();
        await ear.listen('ABCD');
        await ear.listenToAll();
        const expected = { ...EMPTY, ...line, leaseS: 20 };
        expect(await repeatedly(() => passOn('A1', 'A2', { leaseMs: 20_000 }))).toBe('passed');
        expect(await look()).toEqual({ ...expected, lock: { A2: '1' } });
        expect(await repeatedly(() => passOn('A2', 'A3', { leaseMs: 20_000, starts: 0 }))).toBe(
          'passed',
        );
        expect(await look()).toEqual({ ...expected, lock: { A3: '0' } });
        expect(await ear.heard()).toEqual([]);
      });
    });

    it('a heir enters what it got', async () => {
      await enter('A1');
      await passOn('A1', 'A2', { starts: 0, leaseMs: CLAIM_MS });
      expect(await repeatedly(() => enter('A2'))).toEqual(granted);
      expect(await look()).toEqual(heldBy('A2'));
    });

    it('claim never shortens the lease, and prolongs it when more is asked for', async () => {
      await enter('A1');
      await repeatedly(() => claim('A1', 'starts', 5_000));
      expect(await look()).toEqual(heldBy('A1', 1, 30));
      await repeatedly(() => claim('A1', 'starts', 60_000));
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

    it('claim-fenced takes no lock when the token of the line is none', async () => {
      await redis.admin.set(view.keys.token ?? '', 'abc');
      view.foreign.add('token');
      await expect(repeatedly(() => claimFenced('A1'))).rejects.toThrow('LOCKSTATE');
      expect(await look()).toEqual(FREE);
    });

    it('leave hands over once, and to one only', async () => {
      await ear.listen('BC');
      await ear.listenToAll();
      await enter('A1');
      await claim('B1');
      await claim('C1');
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await leave('A1'));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual({ ...handedTo('B1'), ...standing('C1') });
      expect(await ear.heard()).toEqual(['B: 1 b1']);
    });

    it('take-turns hands over once, and its heir stands in line once', async () => {
      await ear.listen('ABC');
      await ear.listenToAll();
      await enter('A1');
      await claim('B1');
      await claim('C1');
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await takeTurns('A1', 'A2'));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual({ ...handedTo('B1'), ...standing('C1', 'A2') });
      expect(await ear.heard()).toEqual(['B: 1 b1']);
    });

    it('take-turns gives it to its heir once, if nobody else waits', async () => {
      await ear.listenToAll();
      await enter('A1');
      await stand('A8');
      expect(await repeatedly(() => takeTurns('A1', 'A2', { starts: 0 }))).toBe('passed');
      expect(await look()).toEqual(heldBy('A2', 0));
      expect(await ear.heard()).toEqual([]);
    });

    it('withdraw passes on once what it was granted', async () => {
      await ear.listen('BC');
      await ear.listenToAll();
      await enter('A1');
      await claim('B1');
      await claim('C1');
      await leave('A1');
      const answers = [];
      for (let time = 0; time < times; time += 1) answers.push(await withdraw('B1'));
      expect(answers).toEqual(['done', 'absent', 'absent'].slice(0, times));
      expect(await look()).toEqual(handedTo('C1'));
      expect(await ear.heard()).toEqual(['B: 1 b1', 'C: 1 c1']);
    });
  });

  describe('who is next', () => {
    const RELEASES: [string, (owner: string) => Promise<string>][] = [
      ['leave', (owner) => leave(owner)],
      ['withdraw', (owner) => withdraw(owner)],
      ['take-turns', (owner) => takeTurns(owner, 'A2')],
    ];
    /** Nobody: it is free, or the heir's. */
    const NOBODY = undefined;
    const cases: [
      string,
      () => Promise<void>,
      next: [string, number] | undefined,
      heard: string[],
    ][] = [
      ['nobody waits', async () => undefined, NOBODY, []],
      ['one that starts waits', () => stand('B1'), ['B1', 1], ['B: 1 b1']],
      [
        'one that enters by itself waits',
        () => stand('B2', { manner: 'enters' }),
        ['B2', 0],
        ['B: 2 b2'],
      ],
      [
        'one that polls waits, and is not told',
        () => stand('B1', { manner: 'polls' }),
        ['B1', 0],
        [],
      ],
      [
        'one that polls is not heard of any more',
        () => stand('B1', { manner: 'polls', aliveMs: -1 }),
        NOBODY,
        [],
      ],
      ['one that nobody can tell waits', () => stand('F1'), NOBODY, []],
      [
        'one that nobody can tell enters by itself',
        () => stand('F1', { manner: 'enters' }),
        NOBODY,
        [],
      ],
      ['one is not heard of any more', () => stand('B1', { aliveMs: -1 }), NOBODY, []],
      ['a claim cannot be read', () => stand('B1', { record: '1 x b1 5000 s' }), NOBODY, []],
      [
        'a claim is worth nothing',
        () => stand('B1', { record: '1 9999999999999 b1 0 s' }),
        NOBODY,
        [],
      ],
      [
        'a claim is worth more than a key can live',
        () => stand('B1', { record: `1 9999999999999 b1 ${'9'.repeat(19)} s` }),
        NOBODY,
        [],
      ],
      [
        'there is a place without a claim',
        async () => {
          await stand('B1');
          await redis.admin.del(view.keys.claims ?? '');
        },
        NOBODY,
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
      const isTurn = name === 'take-turns';

      it.each(cases)('%s', async (_, write, next, heard) => {
        await ear.listen('ABC');
        await enter('A1');
        await write();
        await ear.listenToAll();
        if (next === NOBODY) {
          expect(await release('A1')).toBe(isTurn ? 'passed' : 'done');
          expect(await look()).toEqual(isTurn ? heldBy('A2') : FREE);
          expect(await ear.heard()).toEqual(isTurn ? [] : ['all: 0']);
        } else {
          expect(await release('A1')).toBe('done');
          expect(await look()).toEqual({ ...handedTo(...next), ...(isTurn && standing('A2')) });
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
        expect(after.line).toEqual(isTurn ? ['C', 'E', 'A'] : ['C', 'E']);
        expect(after.claims).toMatchObject({ C: seen('C1', 'starts', -2), E: seen('E1') });
      });

      it('takes away so many of the dead, and the rest the next time', async () => {
        await ear.listen('BA');
        await ear.listenToAll();
        await enter('A1');
        await standDead(MOST_SWEPT);
        await stand('B1');
        expect(await release('A1')).toBe(isTurn ? 'passed' : 'done');
        expect(await look()).toEqual({ ...(isTurn ? heldBy('A2') : FREE), ...standing('B1') });
        expect(await ear.heard()).toEqual(isTurn ? [] : ['all: 0']);
        if (!isTurn) await enter('A2');
        expect(await leave('A2')).toBe('done');
        expect(await look()).toEqual(handedTo('B1'));
      });
    });

    it('is none of the process that leaves: that would have named its heir', async () => {
      await ear.listen('AB');
      await enter('A1');
      await stand('A2');
      await stand('B1');
      expect(await leave('A1')).toBe('done');
      expect(await look()).toEqual(handedTo('B1'));
      await stand('B2');
      expect(await leave('B1')).toBe('done');
      expect(await look()).toEqual(FREE);
    });

    it('is another caller of the process of which one withdraws', async () => {
      await ear.listen('AB');
      await enter('A1');
      await stand('A2');
      await stand('B1');
      expect(await withdraw('A1')).toBe('done');
      expect(await look()).toEqual({ ...handedTo('A2'), ...standing('B1') });
      expect(await ear.heard()).toEqual(['A: 2 a2']);
    });

    it('is whoever came first by the clock of the server, however often others ask', async () => {
      await ear.listen('BCE');
      await enter('A1');
      for (const owner of ['C1', 'B1', 'E1', 'B2', 'C2', 'B3']) await claim(owner);
      expect(await look()).toEqual({ ...heldBy('A1'), ...standing('C2', 'B3', 'E1') });
      await leave('A1');
      await claim('C2');
      await claim('C3');
      await leave('C2');
      await leave('B3');
      await leave('E1');
      expect(await ear.heard()).toEqual(['C: 2 c2', 'B: 3 b3', 'E: 1 e1', 'C: 3 c3']);
    });

    it('asks again for what it already has without a word to others', async () => {
      await ear.listen('BC');
      await enter('A1');
      await claim('B1');
      await claim('C1');
      await leave('A1');
      expect(await claim('C1')).toMatchObject(busy);
      expect(await claim('B1')).toEqual(granted);
      expect(await look()).toEqual({ ...heldBy('B1'), ...standing('C1') });
      expect(await ear.heard()).toEqual(['B: 1 b1']);
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
      const { lua } = LEAVE.inMode.broadcast();
      await view.run({ ...LEAVE, lua }, { owner: ownerOf('A1'), ...leaveArgs });
      expect(await look()).toEqual(handedTo('F1'));
    });
  });

  describe('one that gives up', () => {
    it('leaves the line, and nobody else does', async () => {
      await enter('X1');
      for (const owner of ['B1', 'A1', 'C1']) await claim(owner);
      expect(await withdraw('A1')).toBe('absent');
      expect(await look()).toEqual({ ...heldBy('X1'), ...standing('B1', 'C1') });
    });

    it('keeps the place of its process for the caller that asked after it', async () => {
      await enter('X1');
      await claim('A1');
      await claim('A2');
      expect(await withdraw('A1')).toBe('absent');
      expect(await look()).toEqual({ ...heldBy('X1'), ...standing('A2') });
    });

    it.each([0, 1, 3])('frees what it has, whatever its count (%d)', async (count) => {
      await ear.listenToAll();
      await hold('A1', count);
      expect(await withdraw('A1')).toBe('done');
      expect(await look()).toEqual(FREE);
      expect(await ear.heard()).toEqual(['all: 0']);
    });
  });

  describe('the open door', () => {
    const openEveryMs = 1_000;
    const long = { sinceMs: openEveryMs };
    const toleranceMs = 5;
    const door = async () => {
      const { opened = '' } = view.keys;
      const untilMs = Number(await redis.admin.get(opened));
      return { untilMs, ttlMs: await redis.admin.pttl(opened), now: await view.now() };
    };
    const OPENING: [string, (owner: string, everyMs?: number) => Promise<string>, string][] = [
      ['leave', (owner, everyMs = openEveryMs) => leave(owner, { openEveryMs: everyMs }), 'done'],
      ['withdraw', (owner, everyMs = openEveryMs) => withdraw(owner, everyMs), 'done'],
      [
        'take-turns',
        (owner, everyMs = openEveryMs) =>
          takeTurns(owner, 'A2', { openEveryMs: everyMs, waitedMs: everyMs }),
        'opened',
      ],
    ];

    describe.each(OPENING)('%s', (name, release, answer) => {
      const isTurn = name === 'take-turns';

      it('leaves the lock to outsiders when somebody has waited for long enough', async () => {
        await ear.listen('B');
        await ear.listenToAll();
        await enter('A1');
        await stand('B1', long);
        const sentAt = await view.now();
        expect(await release('A1')).toBe(answer);
        const { untilMs, now, ttlMs } = await door();
        const line = isTurn ? standing('B1', 'A2') : standing('B1');
        expect(await look()).toEqual({ ...FREE, ...line, isOpened: true });
        expect(untilMs).toBeGreaterThanOrEqual(sentAt + STAND_BACK_MS);
        expect(untilMs).toBeLessThanOrEqual(now + STAND_BACK_MS + 1);
        expect(ttlMs).toBeGreaterThan(openEveryMs - (now - sentAt) - toleranceMs);
        expect(await ear.heard()).toEqual(['all: 0']);
      });

      it('does so no more often than said', async () => {
        await ear.listen('B');
        await ear.listenToAll();
        await enter('A1');
        await stand('B1', long);
        await redis.admin.set(view.keys.opened ?? '', 1, 'PX', 500);
        expect(await release('A1')).toBe('done');
        expect((await look()).lock).toEqual({ B1: '1' });
        expect(await ear.heard()).toEqual(['B: 1 b1']);
      });

      it('never does so with 0', async () => {
        await ear.listen('B');
        await ear.listenToAll();
        await enter('A1');
        await stand('B1', { sinceMs: 100_000 });
        expect(await release('A1', 0)).toBe('done');
        expect(await ear.heard()).toEqual(['B: 1 b1']);
        expect(await look()).toMatchObject({ lock: { B1: '1' }, isOpened: false });
      });

      it('hands over where no outsider hears it, and does not look again for as long', async () => {
        await ear.listen('B');
        await enter('A1');
        await stand('B1', long);
        expect(await release('A1')).toBe('done');
        expect((await look()).lock).toEqual({ B1: '1' });
        const { untilMs, ttlMs } = await door();
        expect(untilMs).toBe(0);
        expect(ttlMs).toBeGreaterThan(0);
        // Nobody is kept waiting meanwhile.
        await withdraw('B1');
        expect(await claim('C1')).toEqual(granted);
      });

      it('stands back for at least a moment, however often the door opens', async () => {
        await ear.listenToAll();
        await enter('A1');
        await stand('B1');
        expect(await release('A1', 1)).toBe(answer);
        expect((await door()).ttlMs).toBeLessThanOrEqual(STAND_BACK_MS);
        await eventually(async () => (await redis.admin.exists(view.keys.opened ?? '')) === 0);
      });
    });

    it('opens only after somebody waited for so long: leave', async () => {
      await ear.listen('B');
      await ear.listenToAll();
      await enter('A1');
      await stand('B1', { sinceMs: openEveryMs / 2 });
      expect(await leave('A1', { openEveryMs })).toBe('done');
      expect(await ear.heard()).toEqual(['B: 1 b1']);
    });

    it.each([
      [0, false],
      [openEveryMs - 2 * toleranceMs, false],
      [openEveryMs, true],
    ])('opens after %d ms of handing on: take-turns (%s)', async (waitedMs, isOpened) => {
      await ear.listenToAll();
      await enter('A1');
      const answer = await takeTurns('A1', 'A2', { waitedMs, openEveryMs });
      expect(answer).toBe(isOpened ? 'opened' : 'passed');
      expect(await look()).toEqual(
        isOpened ? { ...FREE, ...standing('A2'), isOpened } : heldBy('A2'),
      );
    });

    it('refuses those in line while it stands open, with what is left, and no outsider', async () => {
      await ear.listenToAll();
      await enter('A1');
      await stand('B1', long);
      await leave('A1', { openEveryMs });
      await redis.admin.set(view.keys.opened ?? '', (await view.now()) + 900, 'PX', 1_000);
      for (const call of [claim('B1'), claim('C1'), view.run(CLAIM_FENCED, claimArgs('E1'))]) {
        const answer = (await call) as { kind: string; remainingMs: number };
        expect(answer.kind).toBe('busy');
        expect(answer.remainingMs).toBeGreaterThan(0);
        expect(answer.remainingMs).toBeLessThanOrEqual(900);
      }
      expect(await look()).toEqual({ ...FREE, ...standing('B1', 'C1', 'E1'), isOpened: true });
      expect(await enter('X1')).toEqual(granted);
      expect(await look()).toMatchObject({ lock: { X1: '1' }, line: ['B', 'C', 'E'] });
      // What was handed to somebody is entered at any time.
      await redis.admin.del('k');
      await hold('B1', 0);
      expect(await claim('B1')).toEqual(granted);
    });

    it('is over by the clock of the server, and those in line get in', async () => {
      await redis.admin.set(view.keys.opened ?? '', (await view.now()) + 200, 'PX', 1_000);
      expect(await claim('B1')).toMatchObject(busy);
      await eventually(async () => (await claim('B1')).kind === 'granted');
      expect(await look()).toEqual({ ...heldBy('B1'), isOpened: true });
    });

    it('is shut for the outsider that used it: it hands over to those in line', async () => {
      await ear.listen('B');
      await ear.listenToAll();
      await enter('A1');
      await stand('B1', long);
      await leave('A1', { openEveryMs });
      await enter('X1');
      expect(await leave('X1', { openEveryMs })).toBe('done');
      expect((await look()).lock).toEqual({ B1: '1' });
      expect(await ear.heard()).toEqual(['all: 0', 'B: 1 b1']);
    });
  });

  describe('arguments', () => {
    const NO_CLAIMS = [
      ...['', 'x', '1 a1 1', '1 a1 1 x', '1 a1 1 ss', ' 1 a1 1 s', '1 a1 1 s ', '1  a1 1 s'],
      ...['-1 a1 1 s', '1.5 a1 1 s', '1 g1 1 s', '1  1 s', '1 a1 -1 s', '1 a1 1e3 s', '1 a1 1 s\n'],
      ...['0 a1 1 s', '1 a1 0 s', `${'1'.repeat(400)} a1 1 s`, '1 a1 1000000000000000 s'],
      ...['9223372036854775807 a1 1 s', 'nan a1 1 s', 'inf a1 inf s', '1 a1 1 p p'],
    ];
    const owner = ownerOf('A1');
    const ALL: Values = {
      ...{ owner, heir: ownerOf('A2'), leaseMs: 1_000, claim: claimOf('A1'), tokenTtlMs: 1_000 },
      ...{ holdCount: 0, starts: 1, waitedMs: 0, channel: CHANNEL, openEveryMs: 0 },
    };
    const NUMBERS = ['leaseMs', 'tokenTtlMs', 'holdCount', 'starts', 'waitedMs', 'openEveryMs'];
    const cases = SCRIPTS.flatMap((script: Script<string, string, unknown>) =>
      script.args
        .filter((arg) => arg === 'claim' || NUMBERS.includes(arg))
        .map((arg) => [script.name, arg, script] as const),
    );

    it.each(cases)('%s: %s is refused before the first write', async (_, arg, script) => {
      const bad = [
        ...(arg === 'claim' ? NO_CLAIMS : NO_NUMBERS),
        ...(arg === 'leaseMs' ? [0, '0', '000'] : []),
      ];
      const states = [
        async () => undefined,
        async () => {
          await redis.admin.hset('k', owner, 2);
          await redis.admin.pexpire('k', LEASE_MS);
          await stand('A1');
          await stand('B1', { manner: 'polls' });
        },
        () => redis.admin.hset('k', { [owner]: 0 }),
        () => redis.admin.del('k').then(() => redis.admin.hset('k', { [ownerOf('X1')]: 1 })),
      ];
      for (const write of states) {
        await write();
        await redis.admin.pexpire('k', LEASE_MS);
        const before = await look();
        for (const value of bad) {
          const call = view.run(script, { ...ALL, [arg]: value });
          await expect(call).rejects.toThrow('LOCKARG');
        }
        expect(await look()).toEqual(before);
      }
      expect(await redis.admin.exists(view.keys.token ?? '')).toBe(0);
    });

    it.each(SCRIPTS)('$name is plain text: no value of a user is ever part of it', (script) => {
      expect(script.sha1).toMatch(/^[0-9a-f]{40}$/);
      for (const { lua } of [script, ...Object.values(script.inMode).map((text) => text())]) {
        expect(lua).not.toMatch(/undefined|\[object|NaN/);
      }
    });

    it.each([
      [CLAIM, [2, '1', 'x', [], ['x'], null, undefined, {}]],
      [CLAIM_FENCED, [1, 2, 'x', '', '0', '9007199254740993', [], null]],
      ...[LEAVE, PASS_ON, TAKE_TURNS, WITHDRAW].map((script) => [
        script,
        [0, 1, 'other', '', null],
      ]),
    ] as [Script<string, string, unknown>, unknown[]][])(
      '$name takes no answer it does not know for a success',
      (script, replies) => {
        for (const reply of replies) {
          expect(() => script.decode(reply)).toThrow('makes no sense');
        }
      },
    );
  });

  describe('a line that is something else', () => {
    const foreign: [string, string, (key: string) => Promise<unknown>][] = [
      ['queue', 'a string', (key) => redis.admin.set(key, 'x')],
      ['queue', 'a hash', (key) => redis.admin.hset(key, 'x', 1)],
      ['claims', 'a string', (key) => redis.admin.set(key, 'x')],
      ['claims', 'a list', (key) => redis.admin.rpush(key, 'x')],
      ['opened', 'a list', (key) => redis.admin.rpush(key, 'x')],
      ['opened', 'no number', (key) => redis.admin.set(key, 'x')],
    ];

    describe.each(foreign)('%s: %s', (key, _, write) => {
      beforeEach(async () => {
        await ear.listen('B');
        await ear.listenToAll();
        await stand('B1');
        await redis.admin.del(view.keys[key] ?? '');
        await write(view.keys[key] ?? '');
        view.foreign.add(key);
      });
      const isReadable = key === 'opened';

      it('leaves a release alone', async () => {
        await enter('A1');
        expect(await leave('A1', { openEveryMs: 1_000 })).toBe('done');
        expect((await look()).lock).toEqual(isReadable ? { B1: '1' } : {});
        expect(await ear.heard()).toEqual(isReadable ? ['B: 1 b1'] : ['all: 0']);
      });

      it('leaves a hand-over within the process alone', async () => {
        await enter('A1');
        expect(await takeTurns('A1', 'A2')).toBe(isReadable ? 'done' : 'passed');
        expect((await look()).lock).toEqual(isReadable ? { B1: '1' } : { A2: '1' });
      });

      it('leaves those alone who give up', async () => {
        await enter('A1');
        expect(await withdraw('A1')).toBe('done');
        expect((await look()).lock).toEqual(isReadable ? { B1: '1' } : {});
        expect(await withdraw('C1')).toBe('absent');
      });

      it('lets those in who ask, and refuses them while it is held', async () => {
        expect(await claim('A1')).toEqual(granted);
        expect(await claim('C1')).toMatchObject(busy);
        expect(await view.run(CLAIM_FENCED, claimArgs('C2'))).toMatchObject(busy);
        expect((await look()).lock).toEqual({ A1: '1' });
      });
    });
  });

  describe('a full memory', () => {
    const fill = () => redis.admin.config('SET', 'maxmemory', 1);
    afterEach(() => redis.admin.config('SET', 'maxmemory', 0));

    it('refuses to take a lock, and remembers nobody', async () => {
      await fill();
      await expect(claim('A1')).rejects.toThrow('OOM');
      await expect(claimFenced('A1')).rejects.toThrow('OOM');
      expect(await redis.admin.dbsize()).toBe(0);
      await redis.admin.config('SET', 'maxmemory', 0);
      await enter('A1');
      await fill();
      expect(await claim('B1')).toMatchObject(busy);
      expect(await claimFenced('B1')).toMatchObject(busy);
      expect(await look()).toEqual(heldBy('A1'));
      expect(await claim('A1')).toEqual(granted);
    });

    it('hands over, passes on, opens the door and frees all the same', async () => {
      await ear.listen('BCE');
      await enter('A1');
      for (const owner of ['B1', 'C1', 'E1']) await stand(owner);
      await fill();
      expect(await leave('A1', { openEveryMs: 1 })).toBe('done');
      expect((await look()).lock).toEqual({ B1: '1' });
      expect(await takeTurns('B1', 'B2')).toBe('done');
      expect(await withdraw('C1')).toBe('done');
      expect((await look()).lock).toEqual({ E1: '1' });
      expect(await passOn('E1', 'E2', { starts: 0 })).toBe('passed');
      expect(await look()).toMatchObject({ lock: { E2: '0' }, line: ['B'], leaseS: 30 });
      await ear.listenToAll();
      await redis.admin.del(view.keys.opened ?? '');
      const opening = { openEveryMs: 1_000, waitedMs: 1_000 };
      expect(await takeTurns('E2', 'E3', opening)).toBe('opened');
      expect(await look()).toMatchObject({ lock: {}, isOpened: true });
    });

    it('lets a nested lease end', async () => {
      await hold('A1', 3);
      await fill();
      expect(await leave('A1', { holdCount: 1 })).toBe('done');
      expect(await leave('A1')).toBe('done');
      expect(await look()).toEqual(FREE);
    });
  });

  describe('a user who lacks a right', () => {
    const LACKS = /NOPERM|permission|can't run this command/;
    const COMMANDS = [
      ...['hget', 'hexists', 'hset', 'hdel', 'hlen', 'hkeys', 'exists', 'del', 'pexpire', 'pttl'],
      ...['time', 'get', 'set', 'zadd', 'zrange', 'zpopmin', 'zrem', 'publish', '&'],
    ];
    const OPEN = { openEveryMs: 1_000, waitedMs: 2_000 };
    const STEPS: [string, Script<string, string, unknown>, owner: string, Values][] = [
      ['claim', CLAIM, 'A1', claimArgs('A1')],
      ['claim-fenced', CLAIM_FENCED, 'A1', claimArgs('A1')],
      ['leave', LEAVE, 'A1', leaveArgs],
      ['leave, opening', LEAVE, 'A1', { ...leaveArgs, ...OPEN }],
      ['leave once', LEAVE, 'A1', { ...leaveArgs, holdCount: 1 }],
      ['pass-on', PASS_ON, 'A1', passArgs],
      ['take-turns', TAKE_TURNS, 'A1', { ...turnArgs, claim: claimOf('A2') }],
      ['take-turns, opening', TAKE_TURNS, 'A1', { ...turnArgs, ...OPEN, claim: claimOf('A2') }],
      ['withdraw', WITHDRAW, 'A1', leaveArgs],
      ['withdraw, opening', WITHDRAW, 'A1', { ...leaveArgs, ...OPEN }],
    ];
    let poor: Redis;
    beforeAll(async () => {
      await redis.admin.acl('SETUSER', 'poor', 'on', '>x', '~*', '&*', '+@all');
      poor = new Redis(redis.url, { username: 'poor', password: 'x' });
      await poor.ping();
    });
    afterAll(() => {
      poor.disconnect();
    });

    /** The user has all rights but this one; `&` is that to publish to any channel. */
    const lack = async (command: string) => {
      const rule = command === '&' ? 'resetchannels' : `-${command}`;
      await redis.admin.acl('SETUSER', 'poor', '~*', '&*', '+@all', rule);
    };
    const states: [string, () => Promise<unknown>][] = [
      ['alone', async () => undefined],
      [
        'with others in line',
        async () => {
          await stand('D1', { aliveMs: -1, sinceMs: 3_000 });
          await stand('B1', { sinceMs: 2_000 });
          await stand('C1', { manner: 'polls' });
        },
      ],
    ];

    describe.each(STEPS)('%s', (name, script, owner, args) => {
      const values = { ...args, owner: ownerOf(owner), heir: ownerOf('A2') };
      const befores: (readonly [string, () => Promise<unknown>])[] = name.startsWith('claim')
        ? [
            ['of a free lock', async () => undefined],
            ['of what was handed over', () => hold('A1', 0)],
            ["of somebody else's lock", () => hold('X1', 1)],
          ]
        : [['of our lock', () => hold('A1', name === 'leave once' ? 2 : 1)]];
      const cases = befores.flatMap(([what, write]) =>
        states.flatMap(([line, writeLine]) =>
          COMMANDS.map((command) => [command, what, line, write, writeLine] as const),
        ),
      );

      it.each(cases)('without %s %s, %s: done or refused', async (command, ...given) => {
        const [, , write, writeLine] = given;
        await write();
        await writeLine();
        await ear.listen('B');
        if (name.endsWith('opening')) await ear.listenToAll();
        const before = await look();
        await lack(command);
        const answer = await view.run(script, values, poor).catch((e: unknown) => e);
        const after = await look();
        const heard = await ear.heard();
        if (answer instanceof Error) {
          expect(answer.message).toMatch(LACKS);
          expect(after).toEqual(before);
          expect(heard).toEqual([]);
        } else if (!name.startsWith('claim') && name !== 'leave once') {
          expect(answer).not.toBe('absent');
          expect(after.lock).not.toHaveProperty('A1');
        }
        // Whoever was told has it.
        if (heard.includes('B: 1 b1')) expect(after.lock).toEqual({ B1: '1' });
        expect(Object.keys(after.lock).length).toBeLessThanOrEqual(1);
      });
    });
  });
});
