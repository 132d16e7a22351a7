import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { NO_NUMBERS } from '../support/deliver.js';
import {
  FREE,
  LEASE_MS,
  busy,
  claimArgs,
  claimOf,
  granted,
  heldBy,
  leaveArgs,
  passArgs,
  passInOrderArgs,
  useQueueScripts,
} from '../support/queue-scripts.js';
import { ownerOf, type Values } from '../support/queue-view.js';
import { useRealRedis } from '../support/redis-server.js';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import type { QueueKindUnderTest } from '../support/queue-kinds.js';
export function describeQueueFaults(name: string, kind: QueueKindUnderTest): void {
  const SCRIPTS = [
    ...[kind.claim, kind.claimFenced, kind.leave],
    ...[kind.pass, kind.passInOrder, kind.cancel],
  ];
  describe(`the scripts of ${name} that is handed on, when something is wrong`, () => {
    const freed = kind.freed.map((message) => `all: ${message}`);
    const scripts = useQueueScripts(kind, useRealRedis());
    const { claim, claimFenced, enter, leave, leaveSome, pass, passInOrder, cancel } = scripts;
    const { look, stand, hold, redis, ear, view } = scripts;

    describe('arguments', () => {
      const NO_CLAIMS = [
        ...['', 'x', '1 a1 1', '1 a1 1 x', '1 a1 1 ss', ' 1 a1 1 s', '1 a1 1 s ', '1  a1 1 s'],
        ...[
          ...['-1 a1 1 s', '1.5 a1 1 s', '1 g1 1 s', '1  1 s', '1 a1 -1 s', '1 a1 1e3 s'],
          '1 a1 1 s\n',
        ],
        ...['0 a1 1 s', '1 a1 0 s', `${'1'.repeat(400)} a1 1 s`, '1 a1 1000000000000000 s'],
        ...['9223372036854775807 a1 1 s', 'nan a1 1 s', 'inf a1 inf s', '1 a1 1 p p'],
      ];
      const owner = ownerOf('A1');
      const ALL: Values = {
        ...{
          owner,
          successor: ownerOf('A2'),
          leaseMs: 1_000,
          claim: claimOf('A1'),
          tokenTtlMs: 1_000,
        },
        ...{ starts: 1, due: 0, ...kind.args },
      };
      const NUMBERS = [...['leaseMs', 'tokenTtlMs', 'starts', 'due', 'memoryMs']];
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
            await hold('A1', 2);
            await stand('A1');
            await stand('B1', { mode: 'poll' });
          },
          () => redis.admin.del('k').then(() => hold('A1', 0)),
          () => redis.admin.del('k').then(() => hold('X1', 1)),
        ];
        for (const write of states) {
          await write();
          await redis.admin.pexpire('k', LEASE_MS);
          const before = await view.written();
          const calls = bad.map((value) => view.run(script, { ...ALL, [arg]: value }));
          for (const call of await Promise.allSettled(calls)) {
            expect(call).toMatchObject({ reason: { message: expect.stringContaining('LOCKARG') } });
          }
          expect(await view.written()).toEqual(before);
        }
        expect(await redis.admin.exists(view.keys.token ?? '')).toBe(0);
      });

      it.each([
        [kind.claim, [2, '1', 'x', [], ['x'], null, undefined, {}]],
        [kind.claimFenced, [1, 2, 'x', '', '0', '9007199254740993', [], null]],
        ...[kind.leave, kind.pass, kind.passInOrder, kind.cancel].map((script) => [
          script,
          [0, 2, 'other', '', null],
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

    describe('a queue that is something else', () => {
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
          expect(await leave('A1', { due: 1 })).toBe('reserved');
          expect((await look()).lock).toEqual({});
          expect(await ear.heard()).toEqual(freed);
        });

        it('leaves a hand-over within the process alone', async () => {
          await enter('A1');
          expect(await passInOrder('A1', 'A2')).toBe(isReadable ? 'done' : 'passed');
          expect((await look()).lock).toEqual(isReadable ? { B1: '1' } : { A2: '1' });
        });

        it('leaves those alone who give up', async () => {
          await enter('A1');
          expect(await cancel('A1')).toBe('done');
          expect((await look()).lock).toEqual(isReadable ? { B1: '1' } : {});
          expect(await cancel('C1')).toBe('absent');
        });

        it('lets those in who ask, and refuses them while it is held', async () => {
          expect(await claim('A1')).toEqual(granted);
          expect(await claim('C1')).toMatchObject(busy);
          expect(await view.run(kind.claimFenced, claimArgs('C2'))).toMatchObject(busy);
          expect((await look()).lock).toEqual({ A1: '1' });
        });
      });
    });

    describe('a full memory', () => {
      const fill = () => redis.admin.config('SET', 'maxmemory', 1);
      afterEach(() => redis.admin.config('SET', 'maxmemory', 0));

      it('refuses to take a lock, and remembers no process', async () => {
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

      it('hands over, passes on, opens the window and frees all the same', async () => {
        await ear.listen('BCE');
        await enter('A1');
        for (const owner of ['B1', 'C1', 'E1']) await stand(owner);
        await fill();
        expect(await leave('A1', { due: 1 })).toBe('done');
        expect((await look()).lock).toEqual({ B1: '1' });
        expect(await passInOrder('B1', 'B2')).toBe('done');
        expect(await cancel('C1')).toBe('done');
        expect((await look()).lock).toEqual({ E1: '1' });
        expect(await pass('E1', 'E2', { starts: 0 })).toBe('passed');
        expect(await look()).toMatchObject({ lock: { E2: '0' }, queue: ['B'], leaseS: 30 });
        await ear.listenToAll();
        await redis.admin.del(view.keys.opened ?? '');
        const opening = { due: 1 };
        expect(await passInOrder('E2', 'E3', opening)).toBe('reserved');
        expect(await look()).toMatchObject({ lock: {}, isReserved: true });
      });

      it('lets a nested lease end', async () => {
        await hold('A1', 3);
        await fill();
        expect(await leaveSome('A1', 1)).toBe('done');
        expect(await leave('A1')).toBe('done');
        expect(await look()).toEqual(FREE);
      });
    });

    describe('a user who lacks a right', () => {
      const LACKS = /NOPERM|permission|can't run this command/;
      /** Those that a script may call, and the right to publish to any channel. */
      const rightsFor = ({ lua }: Script<string, string, unknown>) => [
        ...new Set(
          Array.from(lua.matchAll(/redis\.p?call\('(\w+)'/g), ([, command = '']) => command),
        ),
        '&',
      ];
      const OPEN = { due: 1 };
      const STEPS: [string, Script<string, string, unknown>, owner: string, Values][] = [
        ['claim', kind.claim, 'A1', claimArgs('A1')],
        ['claim-fenced', kind.claimFenced, 'A1', claimArgs('A1')],
        ['leave', kind.leave, 'A1', leaveArgs],
        ['leave, opening', kind.leave, 'A1', { ...leaveArgs, ...OPEN }],
        ['pass', kind.pass, 'A1', passArgs],
        ['pass-in-order', kind.passInOrder, 'A1', { ...passInOrderArgs, claim: claimOf('A2') }],
        [
          'pass-in-order, opening',
          kind.passInOrder,
          'A1',
          { ...passInOrderArgs, ...OPEN, claim: claimOf('A2') },
        ],
        ['cancel', kind.cancel, 'A1', leaveArgs],
        ['cancel, opening', kind.cancel, 'A1', { ...leaveArgs, ...OPEN }],
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
          'with others in the queue',
          async () => {
            await stand('D1', { aliveMs: -1, sinceMs: 3_000 });
            await stand('B1', { sinceMs: 2_000 });
            await stand('C1', { mode: 'poll' });
          },
        ],
      ];

      const ourselves = [
        'with ourselves in the queue',
        async () => {
          await stand('A1');
          await stand('B1');
        },
      ] as const;
      const isTime = ['when outsiders have it', () => view.setWindow(1_000, 1)] as const;

      describe.each(STEPS)('%s', (name, script, owner, args) => {
        const values = { ...args, owner: ownerOf(owner), successor: ownerOf('A2') };
        const befores: (readonly [string, () => Promise<unknown>])[] = name.startsWith('claim')
          ? [
              ['of a free lock', async () => undefined],
              ['of what was handed over', () => hold('A1', 0)],
              ["of another owner's lock", () => hold('X1', 1)],
            ]
          : [['of our lock', () => hold('A1', 1)]];
        const queues = [
          ...states,
          ...(/^claim|^cancel/.test(name) ? [ourselves] : []),
          ...(name.endsWith('opening') ? [isTime] : []),
        ];
        const cases = befores.flatMap(([what, write]) =>
          queues.map(([queue, writeQueue]) => [what, queue, write, writeQueue] as const),
        );

        it('needs no right but these', async () => {
          const rules = rightsFor(script).map((right) => (right === '&' ? '&*' : `+${right}`));
          await redis.admin.acl('LOG', 'RESET');
          const none = ['~*', '-@all', 'resetchannels', '+eval'];
          await redis.admin.acl('SETUSER', 'poor', ...none, ...rules);
          for (const [, , write, writeQueue] of cases) {
            await redis.admin.flushall();
            await write();
            await writeQueue();
            await view.run(script, values, poor);
          }
          const log = (await redis.admin.acl('LOG')) as unknown[];
          expect(log).toEqual([]);
        });

        const lacking = cases.flatMap((given) =>
          rightsFor(script).map((command) => [command, ...given] as const),
        );

        it.each(lacking)('without %s %s, %s: done or refused', async (command, ...given) => {
          const [, , write, writeQueue] = given;
          await write();
          await writeQueue();
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
          // A process that got the message has the lock.
          if (heard.includes('B: 1 b1')) expect(after.lock).toEqual({ B1: '1' });
          expect(Object.keys(after.lock).length).toBeLessThanOrEqual(1);
        });
      });
    });
  });
}
