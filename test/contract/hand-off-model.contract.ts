import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { writtenClaim } from '../../libs/redis-lock/src/primitives/lua/hand-off.js';
import {
  ACQUIRE_NESTED,
  RELEASE_SOME,
  RENEW,
} from '../../libs/redis-lock/src/primitives/lua/hash-lock.js';
import type { Script } from '../../libs/redis-lock/src/core/redis/script.js';
import { deliver } from '../support/deliver.js';
import type { QueueKindUnderTest } from '../support/queue-kinds.js';
import { QueueView, ownerOf, useListeners, type Values } from '../support/queue-view.js';
import { expectToFollowModel, type Repeating, type Step } from '../support/model.js';
import { useRedis } from '../support/redis-server.js';
import { HandOffModel, type Terms } from './hand-off-model.js';

const KEY = 'k';
/** Time is moved by ten seconds, and everything lasts for five more: no answer depends on how long a step takes. */
const JUMP_MS = 10_000;
const LEASES_MS = [25_000, 45_000] as const;
const CLAIM_MS = 15_000;
const ALIVE_MS = [5_000, 35_000] as const;
/** No end of a window falls together with a step of time. */
const WINDOW = { longestMs: 25_000, ttlMs: 28_000 };
const DUE = 3;
const LONGEST_MS = { lock: 45_000, queue: 35_000, claims: 35_000, opened: WINDOW.ttlMs };
/** The scripts' own times are too short for a spec. With these, a queue stands back until time is moved. */
const LONGER = [
  ['longestMs = 1000', `longestMs = ${String(WINDOW.longestMs)}`],
  ["written, 'px', 3000", `written, 'px', ${String(WINDOW.ttlMs)}`],
] as const;

/** Process D listens on no channel, and process X stands in no queue. */
const LINED = ['A', 'B', 'C', 'D'] as const;
const HEARING = 'ABC';

/** One call of a script, for real and in the model; it may be delivered again at any time. */
interface Call {
  readonly shows: string;
  /** The owner that it would create out of nothing, were it delivered late. */
  readonly creates?: string;
  readonly script: Script<string, string, unknown>;
  readonly args: Values | readonly (string | number)[];
  readonly model: (model: HandOffModel) => unknown;
}

interface Model {
  readonly handOff: HandOffModel;
  readonly calls: Call[];
  /** The next number of a caller of each process, and of a nonce. */
  readonly numbers: Record<string, number>;
  nonce: number;
  /** Owners that got the lock by an answer or by a message, or may look by themselves. */
  readonly granted: Set<string>;
  readonly claimed: Set<string>;
  readonly withdrawn: Set<string>;
  readonly left: Set<string>;
  /** Owners that have left and came back by a call that was delivered late, and those they named. */
  readonly returned: Set<string>;
}

/** Any sequence of the calls of a lock that is handed on, and of time. */
export function describeHandOffModel(name: string, kind: QueueKindUnderTest): void {
  describe(`the scripts of the queue of ${name} and their model`, () => {
    /** Writers leave no marks: those have specs of their own. */
    const unmarked = { ...kind, args: { ...kind.args, memoryMs: 0 } };
    const redis = useRedis({ flush: false });
    const view = new QueueView(redis, KEY, unmarked, LONGEST_MS);
    const ear = useListeners(redis, KEY, kind);
    let deliveries = 1;
    const clients: Repeating = {
      deliver: (times) => (deliveries = times),
      forgetScripts: async () => {
        await redis.admin.script('FLUSH');
      },
      close: async () => undefined,
    };

    const run = (call: Call) =>
      call.script === (RENEW as Call['script'])
        ? deliver(redis.admin, call.script, [KEY], call.args)
        : view.run(slower(call.script), call.args as Values);

    const slower = (script: Call['script']) => {
      const lua = LONGER.reduce((text, [short, long]) => text.replace(short, long), script.lua);
      return { ...script, lua };
    };

    /** Delivers a call as often as this step says: only the first time changes anything. */
    const send = async (model: Model, call: Call, isLate = false) => {
      const before = model.handOff.lock?.owner;
      const queued = queuedNow(model);
      let state: unknown;
      for (let time = 0; time < deliveries; time += 1) {
        const expected = call.model(model.handOff);
        const answer = await run(call);
        expect(answerOf(answer)).toEqual(expected);
        const after = { ...(await view.look()), leaseS: 0 };
        state ??= after;
        expect(after).toEqual(state);
      }
      follow(model, call, { before, queued, isLate });
      if (!isLate) model.calls.push(call);
    };

    const answerOf = (answer: unknown) => {
      if (Array.isArray(answer)) return answer[0] as unknown;
      return typeof answer === 'object' ? (answer as { kind: string }).kind : answer;
    };

    const queuedNow = ({ handOff }: Model) =>
      handOff.queue.map(({ process, number }) => process + number);

    /** The owner must have got the lock and must not have left, unless a late call brought it back. */
    const follow = (
      model: Model,
      call: Call,
      {
        before,
        queued,
        isLate,
      }: { before?: string | undefined; queued: string[]; isLate: boolean },
    ) => {
      const { handOff, granted, left, returned, withdrawn } = model;
      const isByOneThatReturned = before !== undefined && returned.has(before);
      for (const one of queuedNow(model)) {
        const isLateCopy = isByOneThatReturned || (isLate && call.creates === one);
        if (!queued.includes(one) && isLateCopy) withdrawn.delete(one);
      }
      for (const owner of handOff.takeGranted()) granted.add(owner);
      const now = handOff.lock?.owner;
      if (now === undefined || now === before || !left.has(now)) return;
      const wasQueued = queued.includes(now);
      const isCreated = isLate && call.creates === now;
      expect({
        call: call.shows,
        now,
        isLawful: wasQueued || isByOneThatReturned || isCreated,
      }).toEqual({ call: call.shows, now, isLawful: true });
      returned.add(now);
    };

    const fresh = (model: Model, process: string) => {
      const number = (model.numbers[process] ?? 0) + 1;
      model.numbers[process] = number;
      return `${process}${String(number)}`;
    };
    const termsOf = (model: Model, mode: Terms['mode'], aliveMs: number): Terms => ({
      ...{ aliveMs, mode, leaseTimeMs: CLAIM_MS },
      nonce: (model.nonce += 1).toString(16).padStart(4, '0'),
    });
    const fieldOf = (owner: string) => kind.fieldOf(ownerOf(owner));
    const announcing = { due: DUE };

    const claims = (owner: string, leaseMs: number, terms: Terms): Call => ({
      shows: `${owner} claims`,
      creates: owner,
      script: kind.claim,
      args: { owner: ownerOf(owner), leaseMs, claim: writtenClaim(terms) },
      model: (model) => model.claim(owner, leaseMs, terms),
    });
    const enters = (owner: string, holdCount: number, leaseMs: number): Call => ({
      shows: `${owner} enters to ${String(holdCount)}`,
      ...(holdCount === 1 && { creates: owner }),
      ...(holdCount === 1
        ? { script: kind.enter, args: { owner: ownerOf(owner), leaseMs } }
        : { script: ACQUIRE_NESTED, args: { owner: fieldOf(owner), holdCount, leaseMs } }),
      model: (model) => model.enter(owner, holdCount, leaseMs),
    });
    const leaves = (owner: string, holdCount: number): Call => ({
      shows: `${owner} leaves to ${String(holdCount)}`,
      ...(holdCount === 0
        ? { script: kind.leave, args: { owner: ownerOf(owner), ...announcing } }
        : { script: RELEASE_SOME, args: { owner: fieldOf(owner), holdCount } }),
      model: (model) => model.leave(owner, holdCount, DUE),
    });
    const passes = (owner: string, successor: string, leaseMs: number, starts: number): Call => ({
      shows: `${owner} passes on to ${successor}`,
      script: kind.passOn,
      args: { owner: ownerOf(owner), successor: ownerOf(successor), leaseMs, starts },
      model: (model) => model.passOn(owner, successor, leaseMs, starts),
    });
    const takesTurns = (
      [owner, successor]: readonly [string, string],
      leaseMs: number,
      terms: Terms,
    ): Call => ({
      shows: `${owner} takes turns, with the successor ${successor}`,
      script: kind.takeTurns,
      args: {
        ...{
          owner: ownerOf(owner),
          successor: ownerOf(successor),
          leaseMs,
          starts: 1,
        },
        ...{ claim: writtenClaim(terms), ...announcing },
      },
      model: (model) => model.takeTurns([owner, successor], leaseMs, terms, DUE),
    });
    const withdraws = (owner: string): Call => ({
      shows: `${owner} withdraws`,
      script: kind.withdraw,
      args: { owner: ownerOf(owner), ...announcing },
      model: (model) => model.withdraw(owner, DUE),
    });
    const renews = (owner: string, leaseMs: number): Call => ({
      shows: `${owner} renews`,
      script: RENEW,
      args: [kind.fieldOf(ownerOf(owner)), leaseMs],
      model: (model) => model.renew(owner, leaseMs),
    });

    const aLease = fc.constantFrom(...LEASES_MS);
    const aMode = fc.constantFrom<Terms['mode']>('start', 'start', 'enter', 'poll');
    const anAge = fc.constantFrom(...ALIVE_MS);
    const heldOf = ({ handOff: { lock } }: Model) => lock ?? { owner: 'X0', count: 1 };
    const isHeld = ({ handOff: { lock } }: Model) => lock !== undefined;
    const isHeldInQueue = (model: Model) => isHeld(model) && !heldOf(model).owner.startsWith('X');
    /** An owner that may still want the lock, or have it. */
    const anyOf = ({ claimed, left }: Model, n: number) => {
      const owners = [...claimed].filter((owner) => !left.has(owner));
      return owners[n % owners.length] ?? 'X0';
    };

    const claiming = fc
      .record({ process: fc.constantFrom(...LINED), lease: aLease, mode: aMode, age: anAge })
      .map(({ process, lease, mode, age }): Step<Model> => ({
        shows: `a caller of ${process} claims (${mode}, ${String(lease)}, ${String(age)})`,
        run: async (model) => {
          const owner = fresh(model, process);
          model.claimed.add(owner);
          await send(model, claims(owner, lease, termsOf(model, mode, age)));
        },
      }));

    const claimingAgain = fc
      .record({ n: fc.nat({ max: 9 }), lease: aLease, mode: aMode, age: anAge })
      .map(({ n, lease, mode, age }): Step<Model> => ({
        shows: `caller ${String(n)} claims again (${mode})`,
        fits: (model) => anyOf(model, n) !== 'X0',
        run: (model) => send(model, claims(anyOf(model, n), lease, termsOf(model, mode, age))),
      }));

    const entering = aLease.map((lease): Step<Model> => ({
      shows: 'an outsider enters',
      run: (model) => send(model, enters(fresh(model, 'X'), 1, lease)),
    }));

    const nesting = aLease.map((lease): Step<Model> => ({
      shows: 'the owner enters once more',
      fits: isHeld,
      run: (model) => send(model, enters(heldOf(model).owner, heldOf(model).count + 1, lease)),
    }));

    const leavingOnce = fc.constant<Step<Model>>({
      shows: 'the owner leaves once',
      fits: (model) => isHeld(model) && heldOf(model).count > 1,
      run: (model) => send(model, leaves(heldOf(model).owner, heldOf(model).count - 1)),
    });

    const leaving = fc.constant<Step<Model>>({
      shows: 'the owner leaves',
      fits: isHeld,
      run: async (model) => {
        const { owner } = heldOf(model);
        model.left.add(owner);
        await send(model, leaves(owner, 0));
      },
    });

    const passing = fc
      .record({ lease: aLease, starts: fc.nat({ max: 1 }) })
      .map(({ lease, starts }): Step<Model> => ({
        shows: `the owner passes on (${String(starts)})`,
        fits: isHeldInQueue,
        run: async (model) => {
          const { owner } = heldOf(model);
          model.left.add(owner);
          await send(model, passes(owner, fresh(model, owner.charAt(0)), lease, starts));
        },
      }));

    const takingTurns = fc
      .record({ lease: aLease, mode: aMode, age: anAge })
      .map(({ lease, mode, age }): Step<Model> => ({
        shows: 'the owner takes turns',
        fits: isHeldInQueue,
        run: async (model) => {
          const { owner } = heldOf(model);
          model.left.add(owner);
          const successor = fresh(model, owner.charAt(0));
          model.claimed.add(successor);
          const terms = termsOf(model, mode, age);
          await send(model, takesTurns([owner, successor], lease, terms));
        },
      }));

    const withdrawing = fc.nat({ max: 9 }).map((n): Step<Model> => ({
      shows: `caller ${String(n)} withdraws`,
      fits: (model) => anyOf(model, n) !== 'X0',
      run: async (model) => {
        const owner = anyOf(model, n);
        model.left.add(owner);
        model.withdrawn.add(owner);
        await send(model, withdraws(owner));
      },
    }));

    const renewing = fc
      .record({ n: fc.nat({ max: 9 }), lease: aLease })
      .map(({ n, lease }): Step<Model> => ({
        shows: `the owner renews, or caller ${String(n)}`,
        run: (model) => {
          const owner = n % 2 === 0 ? heldOf(model).owner : anyOf(model, n);
          return send(model, renews(owner, lease));
        },
      }));

    /**
     * Only a late first entry or a late claim may bring back an owner that has left. That owner gets a
     * free lock for its lease, or a place in the queue for the time of its claim.
     */
    const repeating = fc.nat({ max: 99 }).map((n): Step<Model> => ({
      shows: `call ${String(n)} is delivered late`,
      fits: ({ calls }) => calls.length > 0,
      run: (model) => send(model, model.calls[n % model.calls.length] as Call, true),
    }));

    const jumping = fc.integer({ min: 1, max: 3 }).map((jumps): Step<Model> => ({
      shows: `${String((jumps * JUMP_MS) / 1_000)} s go by`,
      run: async ({ handOff }) => {
        handOff.jump(jumps * JUMP_MS);
        await view.jump(jumps * JUMP_MS);
      },
    }));

    const hearing = fc.boolean().map((isHeard): Step<Model> => ({
      shows: `an outsider ${isHeard ? 'listens' : 'listens no more'}`,
      run: async ({ handOff }) => {
        handOff.hasOutsiders = isHeard;
        await (isHeard ? ear.listenToAll() : ear.stopListeningToAll());
      },
    }));

    async function begin() {
      await redis.admin.flushall();
      await ear.clear();
      await ear.listen(HEARING);
      await ear.listenToAll();
      const model: Model = {
        ...{
          handOff: new HandOffModel(HEARING, WINDOW, kind.freed),
          calls: [],
          numbers: {},
          nonce: 0,
        },
        ...{ granted: new Set(), claimed: new Set(), withdrawn: new Set(), left: new Set() },
        returned: new Set(),
      };
      return { model, real: undefined };
    }

    async function agree({ handOff, granted, claimed, withdrawn }: Model) {
      const seen = await view.look();
      const { lock } = handOff;
      expect(seen.lock).toEqual(lock === undefined ? {} : { [lock.owner]: String(lock.count) });
      expect(Math.abs(seen.leaseS - handOff.leaseMs / 1_000)).toBeLessThan(5);
      expect(seen.queue).toEqual(handOff.queue.map(({ process }) => process));
      expect(seen.isOpened).toBe(handOff.opened !== undefined);
      expect(await ear.heard()).toEqual(handOff.messages);
      const [owner] = Object.keys(seen.lock);
      if (owner !== undefined) expect(granted).toContain(owner);
      for (const [process, record] of Object.entries(seen.claims)) {
        const [number = '', , nonce] = record.split(' ');
        expect({ process, nonce }).toEqual({
          process,
          nonce: handOff.claimOf(process)?.terms.nonce,
        });
        expect(claimed).toContain(process + number);
        expect(withdrawn).not.toContain(process + number);
      }
    }

    it('have times that can be longer', () => {
      const texts = [kind.claim, kind.leave, kind.takeTurns, kind.withdraw].map(({ lua }) => lua);
      for (const [short] of LONGER) expect(texts.join('\n')).toContain(short);
    });

    it('agree in any sequence of calls, repeated and late ones among them, and of time', async () => {
      const asking = [claiming, claiming, claimingAgain, entering, nesting, renewing];
      const ending = [
        ...[leavingOnce, leaving, leaving, passing, takingTurns, takingTurns, withdrawing],
      ];
      const steps = [...asking, ...ending, repeating, repeating, jumping, jumping, hearing];
      await expectToFollowModel(`hand-off of ${name}`, clients, steps, begin, agree, 'max');
    });
  });
}
