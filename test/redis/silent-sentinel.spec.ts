import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openLocks, type LockFamily } from 'nestjs-redis-lock/core';

import { describeUnless } from '../support/server-facts.js';
import { isOfCaller, overClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { killNode, SentinelGroup } from '../support/topology.js';

const FAILED_OVER = { withinMs: 60_000 };

describeUnless(isOfCaller, 'the client of the application has no limit')('sentinels', () => {
  let group: SentinelGroup;
  let locks: LockFamily;
  const goesOn = () => locks.lock.using('a', () => true, { waitTimeMs: 1_000 });

  beforeAll(async () => {
    group = await SentinelGroup.start();
    locks = openLocks({ connection: overClient(group.connection) });
  });
  afterAll(async () => {
    await locks.close();
    await group.stop();
  });

  it('lead to the new master though the first of them is silent', async () => {
    await eventually(goesOn);
    const wake = await group.silenceFirst();
    try {
      await killNode(group.master);
      expect(await eventually(goesOn, FAILED_OVER)).toBe(true);
    } finally {
      wake();
    }
  });
});
