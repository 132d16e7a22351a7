import { describe, expect, it } from '@jest/globals';
import { createHook } from 'node:async_hooks';
import { fakeHold } from '../../../../../test/support/fake-holds.js';
import type { Hold, LeaseListener } from './hold.js';

describe('the scripts of one owner', () => {
  const open = () => fakeHold();
  /** A script that is on its way until it is answered. */
  const script = () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    return { answer, send: () => answered };
  };

  it('go one after the other, in the order in which they were meant', async () => {
    const hold = open();
    const begun: number[] = [];
    const scripts = Array.from({ length: 5 }, script);
    const all = scripts.map(({ send }, i) =>
      hold.serially(() => {
        begun.push(i);
        return send();
      }),
    );
    for (const [i, { answer }] of scripts.entries()) {
      expect(begun).toEqual([0, 1, 2, 3, 4].slice(0, i + 1));
      answer();
      await all[i];
      // The next step begins after the sender of this one has its answer.
      await Promise.resolve();
    }
    expect(hold.isBusy).toBe(false);
  });

  it('wait for those whose turn has just come, also when an answer is the reason for them', async () => {
    const hold = open();
    const first = script();
    const begun: string[] = [];
    const begin = (name: string) =>
      hold.serially(() => {
        begun.push(name);
        return Promise.resolve(name);
      });
    const answered = hold.serially(() => first.send()).then(() => begin('cancellation'));
    const attempt = begin('attempt');
    first.answer();
    await Promise.all([answered, attempt]);
    expect(begun).toEqual(['attempt', 'cancellation']);
  });

  it('wait for all that occupies the owner, also for what came later', async () => {
    const hold = open();
    hold.begin();
    let isSent = false;
    const waiting = hold.serially(() => {
      isSent = true;
      return Promise.resolve('answer');
    });
    hold.begin();
    hold.answered();
    await Promise.resolve();
    expect(isSent).toBe(false);
    hold.answered();
    expect(await waiting).toBe('answer');
  });

  it('do not wait for one that failed, or that could not even be sent', async () => {
    const hold = open();
    const failing = hold.serially(() => Promise.reject(new Error('refused')));
    const throwing = hold.serially(() => {
      throw new Error('unsent');
    });
    const next = hold.serially(() => Promise.resolve('answer'));
    await expect(failing).rejects.toThrow('refused');
    await expect(throwing).rejects.toThrow('unsent');
    expect(await next).toBe('answer');
    expect(hold.isBusy).toBe(false);
  });

  /** Renewals that callers ask for, of these lease times; the scripts that were sent. */
  const renewals = (hold: Hold) => {
    const sent: { readonly leaseTimeMs: number; readonly answer: () => void }[] = [];
    const ask = (leaseTimeMs: number) =>
      hold.renew(leaseTimeMs, (sentMs) => {
        const { answer, send } = script();
        sent.push({ leaseTimeMs: sentMs, answer });
        return send();
      });
    const sentMs = () => sent.map(({ leaseTimeMs }) => leaseTimeMs);
    return { ask, sent, sentMs };
  };
  const settle = () => new Promise(setImmediate);

  it('are one renewal for all callers that call before it is sent, of the longest lease', async () => {
    const { ask, sent, sentMs } = renewals(open());
    const first = ask(100);
    const others = [200, 900, 300].map(ask);
    expect(sentMs()).toEqual([100]);
    sent[0]?.answer();
    await first;
    await settle();
    expect(sentMs()).toEqual([100, 900]);
    sent[1]?.answer();
    await Promise.all(others);
  });

  it.each([1, 3])('have their turn, though %d callers always renew', async (callers) => {
    const hold = open();
    const { ask, sent } = renewals(hold);
    let isOver = false as boolean;
    const renewAlways = async () => {
      while (!isOver) await ask(1);
    };
    const renewing = Promise.all(Array.from({ length: callers }, renewAlways));
    const step = hold.serially(() => Promise.resolve()).then(() => (isOver = true));
    for (let answered = 0; !isOver; answered += 1) {
      expect(answered).toBeLessThan(4);
      sent[answered]?.answer();
      await settle();
    }
    await step;
    while (hold.isBusy) {
      for (const { answer } of sent) answer();
      await settle();
    }
    await renewing;
  });

  it('let one renewal pass after the other, while a step takes long', async () => {
    const hold = open();
    const { ask, sent, sentMs } = renewals(hold);
    const { answer, send } = script();
    const step = hold.serially(send);
    const asked = [ask(1), ask(2)];
    const behind = hold.serially(() => Promise.resolve());
    expect(sentMs()).toEqual([1]);
    for (const [i, ms] of [2, 3].entries()) {
      sent[i]?.answer();
      await asked[i];
      await settle();
      expect(sentMs()).toHaveLength(ms);
      asked.push(ask(ms + 1));
    }
    answer();
    sent[2]?.answer();
    await Promise.all([step, asked[2]]);
    await settle();
    sent[3]?.answer();
    await Promise.all([asked[3], behind]);
    expect(sentMs()).toEqual([1, 2, 3, 4]);
  });

  it('wait for a renewal of the watchdog, and no renewal of a caller passes them then', async () => {
    const hold = open();
    const { ask, sent, sentMs } = renewals(hold);
    hold.beginRenewal();
    const { answer, send } = script();
    const step = hold.serially(send);
    const asked = ask(1);
    expect(sentMs()).toEqual([]);
    hold.renewalAnswered();
    await settle();
    // Beside the step, which is on its way now.
    expect(sentMs()).toEqual([1]);
    answer();
    sent[0]?.answer();
    await Promise.all([step, asked]);
  });

  it('cost the same each, however many wait', async () => {
    const hold = open();
    const count = 1_000;
    let promises = 0;
    const hook = createHook({
      init: (_, type) => {
        if (type === 'PROMISE') promises += 1;
      },
    });
    hook.enable();
    await Promise.all(Array.from({ length: count }, () => hold.serially(() => Promise.resolve())));
    hook.disable();
    expect(promises).toBeGreaterThan(count);
    expect(promises).toBeLessThan(20 * count);
  });
});

it('a hold is watched, and waits for replicas, as its leases that are left ask for', () => {
  const hold = fakeHold();
  const lease = (watchedUntil: number, minReplicas: number, watchdogLeaseMs: number) => ({
    ...{ watchedUntil, options: { minReplicas, watchdogLeaseMs }, onLost: () => undefined },
  });
  const [watched, fixed] = [lease(Infinity, 2, 900), lease(-Infinity, 1, 0)];
  const longer = lease(Infinity, 0, 1_000);
  const asked = () => [hold.isWatched(0), hold.minReplicas, hold.watchdogLeaseMs];
  expect(asked()).toEqual([false, 0, 0]);
  for (const one of [watched, fixed, longer]) hold.add(one);
  expect(asked()).toEqual([true, 2, 1_000]);
  hold.drop(longer);
  expect(asked()).toEqual([true, 2, 900]);
  hold.drop(watched);
  expect(asked()).toEqual([false, 1, 0]);
  hold.drop(fixed);
  expect(asked()).toEqual([false, 0, 0]);
  // A nested call may join while the release of the last lease is on its way.
  hold.add(watched);
  hold.drop(watched);
  hold.add(fixed);
  expect(asked()).toEqual([false, 1, 0]);
});

describe('a hold of many leases', () => {
  it('has the terms of those that are left when one is released', () => {
    const hold = fakeHold();
    const leases = Array.from({ length: 5 }, (_, i): LeaseListener => ({
      watchedUntil: i,
      options: { minReplicas: i % 3, watchdogLeaseMs: 0 },
      onLost: () => undefined,
    }));
    for (const lease of leases) hold.add(lease);
    hold.drop(leases[4] as LeaseListener);
    expect(hold).toMatchObject({ watchedUntil: 3, minReplicas: 2, leases: leases.slice(0, 4) });
    hold.drop(leases[2] as LeaseListener);
    expect(hold).toMatchObject({ watchedUntil: 3, minReplicas: 1 });
    expect(hold.leases).toEqual([leases[0], leases[1], leases[3]]);
  });
});
