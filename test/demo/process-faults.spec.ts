import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ClusterFleet } from '../../apps/seckill-demo/src/arena/cluster-fleet.js';
import { ProcessFaults } from '../../apps/seckill-demo/src/arena/process-faults.js';
import { RefusedError } from '../../apps/seckill-demo/src/arena/refused-error.js';

/** Writes down what befalls the process, in its order. */
class FakeMember {
  readonly story: string[] = [];
  readonly isAlive = true;
  #held = 0;

  constructor(readonly pid: number) {}

  closeGate = (point: string) => Promise.resolve(void this.story.push(`close ${point}`));
  openGate = (point: string) => this.story.push(`open ${point}`);
  held = () => this.#held;
  kill = () => Promise.resolve(void this.story.push('kill'));
  freeze = () => Promise.resolve(void this.story.push('freeze'));
  thaw = () => this.story.push('thaw');

  arrive(): void {
    this.#held = 1;
  }
}

describe('the faults of processes that a visitor causes', () => {
  let members: readonly [FakeMember, FakeMember];
  let reports: string[];
  let stopped: AbortController;
  let faults: ProcessFaults;
  let arrives: (member: FakeMember) => void;
  beforeEach(() => {
    members = [new FakeMember(7), new FakeMember(8)];
    reports = [];
    stopped = new AbortController();
    let notify: () => void = () => undefined;
    const onHeld = (listener: () => void) => {
      notify = listener;
      return () => undefined;
    };
    const fleet = { members, onHeld } as unknown as ClusterFleet;
    const report = (what: string, { pid }: { readonly pid: number }) => {
      reports.push(`${what} ${pid}`);
    };
    faults = new ProcessFaults(fleet, report, stopped.signal);
    arrives = (member) => {
      member.arrive();
      notify();
    };
  });

  const refusal = async (struck: Promise<void>): Promise<unknown> => {
    const error: unknown = await struck.catch((thrown: unknown) => thrown);
    return error instanceof RefusedError ? error.reason : error;
  };

  it('strike the process whose order holds the lock, and let all others go on', async () => {
    const [idle, holder] = members;
    await faults.strikeHolder('kill', () => {
      setImmediate(arrives, holder);
    });
    expect(reports).toEqual(['killed 8']);
    expect(holder.story).toEqual(['close before-write', 'kill', 'open before-write']);
    expect(idle.story).toEqual(['close before-write', 'open before-write']);
  });

  it('let the order of a frozen holder go on when it wakes up, and report that first', async () => {
    const [holder] = members;
    holder.thaw = () => reports.push('thaw');
    await faults.strikeHolder('freeze', () => {
      setImmediate(arrives, holder);
    });
    expect(holder.story).toEqual(['close before-write', 'freeze', 'open before-write']);
    stopped.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(reports).toEqual(['frozen 7', 'thawed 7', 'thaw']);
  });

  it('are refused if no order acquires the lock', async () => {
    const struck = faults.strikeHolder('kill', () => {
      setImmediate(() => {
        stopped.abort();
      });
    });
    expect(await refusal(struck)).toBe('no-holder');
    expect(reports).toEqual([]);
    for (const { story } of members) expect(story.at(-1)).toBe('open before-write');
  });

  it('are refused for a process that has ended, or has not recovered', async () => {
    expect(await refusal(faults.strike('kill', 9))).toBe('gone');
    await faults.strike('freeze', 7);
    expect(await refusal(faults.strike('freeze', 7))).toBe('struck');
    await faults.strike('kill', 7);
    expect(reports).toEqual(['frozen 7', 'killed 7']);
    stopped.abort();
  });
});
