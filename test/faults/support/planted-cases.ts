import { describe, expect, it } from '@jest/globals';

import { useRealRedis } from '../../support/redis-server.js';
import { Lab, Violation } from './lab.js';
import type { Bug } from './planted.js';

export interface Case {
  situation: string;
  workload: (lab: Lab) => Promise<void>;
  /** Each must make the workload fail. */
  planted: Record<string, Bug>;
}

/** Every workload goes well without a bug, and is violated by each of those planted for it. */
export function describeCases(cases: readonly Case[]): void {
  describe.each(cases)('$situation', ({ workload, planted }) => {
    const redis = useRealRedis();
    const referee = useRealRedis();

    it('goes well with the library as it is', async () => {
      await Lab.run({ redis, referee }, {}, workload);
    });

    it.each(Object.entries(planted))('is noticed to go wrong if %s', async (_, bug) => {
      await expect(Lab.run({ redis, referee }, bug, workload)).rejects.toThrow(Violation);
    });
  });
}
