import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { WorkerHerd } from '../../support/child.js';
import { eventually } from '../../support/eventually.js';
import { FaultProxy } from '../../support/fault-proxy.js';
import type { Random } from '../../support/random.js';
import type { RedisFixture } from '../../support/redis-server.js';
import type { PlantedBug } from '../../workers/crowd.worker.js';
import { findingsIn } from './contest-checks.js';
import { ContestHistory, type HistoryRecord } from './contest-history.js';
import { BEGUN, writesOf } from './counters.js';
import { FaultInjector } from './fault-injector.js';
import { faultSchedule } from './fault-schedule.js';
import { Fleet, type FleetPlan } from './fleet.js';
import type { Story } from './history.js';
import { readJournal } from './journal.js';
import { KeyWatch } from './key-watch.js';
import { ROUND_TRIP_MS, within } from './lab.js';
import { pause } from './pace.js';
import type { Manners } from './ways.js';

const LEASE_MS = 1_000;
const POLL_MS = 200;
/** The longest that anybody may have the lock by one grant: a lease, or a claim to it. */
const LONGEST_LEASE_MS = 3_000;
const SLACK_MS = 5_000;

const LIMITS = {
  freeMs: 5 * (POLL_MS + ROUND_TRIP_MS),
  idleMs: 5 * (LONGEST_LEASE_MS + POLL_MS + ROUND_TRIP_MS),
};

/** The one that everybody wants, and two that are there to be taken along with it. */
const LOCKS = ['product_0', 'product_1', 'product_2'];
const WANTED = [...Array.from({ length: 18 }, () => 'product_0'), 'product_1', 'product_2'];

/** A request that comes late is executed as it stands: a hold count may be one of the past then. */
const WITHOUT_COUNTING: Manners = {
  ...{ plain: 60, bare: 20, hasty: 8, try: 8, impatient: 8, aborting: 8, multi: 4, slow: 0.04 },
};
const ALL_MANNERS: Manners = { ...WITHOUT_COUNTING, nested: 6, siblings: 2, outliving: 2 };

export interface Contest {
  readonly workers: WorkerHerd;
  readonly redis: RedisFixture;
  /** A Redis of its own, that no fault touches and that knows nothing of locks. */
  readonly referee: RedisFixture;
  readonly story: Story;
  readonly random: Random;
  readonly sections: number;
  /** How long all of them may take, and whatever comes after them. */
  readonly withinMs: number;
  /** Whether there is no calm between the storms. */
  readonly isStormy?: boolean;
  /** What is wrong with the library. */
  readonly bug?: PlantedBug;
}

export interface Outcome {
  sections: number;
  tookMs: number;
  longestWaitMs: number;
  /** How the calls ended that did not end well, and how often. */
  readonly failures: Record<string, number>;
  readonly faults: Record<string, number>;
  /** Whatever must not be, in words. */
  readonly findings: string[];
}

/** Several processes want one lock, while all goes wrong that the schedule of faults holds. */
export async function contend(contest: Contest): Promise<Outcome> {
  const proxies = [await startProxy(contest), await startProxy(contest)] as const;
  const folder = mkdtempSync(join(tmpdir(), 'contest-'));
  try {
    return await new Round(contest, proxies, folder).play();
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    rmSync(folder, { recursive: true });
  }
}

const startProxy = ({ redis: { port } }: Contest) => FaultProxy.start({ port });

class Round {
  readonly #records: HistoryRecord[] = [];
  readonly #fleet: Fleet;
  readonly #injector: FaultInjector;
  readonly #findings: string[] = [];
  #begunBefore = 0;
  #isOver = false;
  #tookMs = 0;

  constructor(
    private readonly contest: Contest,
    proxies: readonly [FaultProxy, FaultProxy],
    folder: string,
  ) {
    const { workers, redis, random } = contest;
    const note = (record: HistoryRecord) => this.#records.push(record);
    const posts = proxies.flatMap(({ url }, i) => [this.#post(url, i), this.#post(url, i)]);
    this.#fleet = new Fleet({ workers, folder, posts, random: random.fork('fleet'), note });
    this.#injector = new FaultInjector({ redis, proxies, fleet: this.#fleet, locks: LOCKS, note });
  }

  async play(): Promise<Outcome> {
    const { redis } = this.contest;
    const watch = new KeyWatch(redis.admin, LOCKS, (free) => this.#records.push(free));
    this.#begunBefore = await this.#begun();
    await this.#fleet.start();
    const startedAt = performance.now();
    await this.#try('the work', () => this.#work());
    this.#isOver = true;
    await this.#try('the end of the faults', () => this.#injector.end());
    await this.#try('the end of the work', () => this.#fleet.stop());
    this.#tookMs = performance.now() - startedAt;
    await watch.stop();
    await this.#try('what is left', () => this.#nothingIsLeft());
    await this.#try('the end of the processes', () => this.#fleet.end());
    await this.#try('the subscriptions that are left', () =>
      eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0),
    );
    await this.#judgeWrites();
    return this.#outcome(await this.#begun());
  }

  #post(lockUrl: string, proxy: number): FleetPlan['posts'][number] {
    const { redis, referee, bug } = this.contest;
    const settings = { leaseTimeMs: LEASE_MS, pollIntervalMs: POLL_MS };
    const opening = { lockUrls: [lockUrl], refereeUrl: referee.url, witnessUrl: redis.url };
    const work = {
      ...{ locks: WANTED, callers: 6, sections: Infinity, waitTimeMs: 15_000 },
      ...{ workMs: 0, slowMs: 2 * LEASE_MS, guard: 'token' as const, fenced: 0.8 },
      manners: proxy === 0 ? ALL_MANNERS : WITHOUT_COUNTING,
    };
    return { opening: { ...opening, settings, ...(bug !== undefined && { bug }) }, work };
  }

  /** Until there were enough sections. */
  async #work(): Promise<void> {
    const { random, sections, isStormy = false } = this.contest;
    const schedule = faultSchedule(random.fork('faults'));
    const end = this.#begunBefore + sections;
    for (;;) {
      const fault = schedule.next().value;
      const begun = await this.#begun();
      await this.#reach(Math.min(end, begun + (isStormy ? 0 : fault.afterSections)));
      if (begun >= end || this.#isOver) return;
      await pause(fault.afterMs);
      await this.#injector.inject(fault);
    }
  }

  async #reach(sections: number): Promise<void> {
    while ((await this.#begun()) < sections && !this.#isOver) await pause(5);
  }

  async #begun(): Promise<number> {
    return Number(await this.contest.referee.admin.get(BEGUN));
  }

  /** Tokens live on. */
  async #nothingIsLeft(): Promise<void> {
    const { admin } = this.contest.redis;
    const isFree = async () => {
      const keys = await admin.keys('*');
      const left = keys.filter((key) => !key.startsWith('redisson_lock_token:'));
      if (left.length > 0) throw new Error(left.join(', '));
    };
    await eventually(isFree, { withinMs: LONGEST_LEASE_MS + SLACK_MS });
  }

  async #judgeWrites(): Promise<void> {
    for (const lock of LOCKS) {
      const { accepted, count } = await writesOf(this.contest.referee.admin, lock);
      if (accepted === count) continue;
      this.#findings.push(`lost updates: ${String(accepted)} of ${lock} made ${String(count)}`);
    }
  }

  async #try(what: string, step: () => Promise<unknown>): Promise<void> {
    try {
      await within(this.contest.withinMs, step(), 'it is over');
    } catch (error) {
      this.#findings.push(`${what}: ${String(error)}`);
    }
  }

  #outcome(begun: number): Outcome {
    const { story } = this.contest;
    this.#fleet.journals.forEach((journal, process) => {
      for (const entry of readJournal(journal)) this.#records.push({ ...entry, process });
    });
    const history = new ContestHistory(this.#records);
    const findings = [...this.#findings, ...findingsIn(history, LIMITS)];
    if (findings.length > 0) for (const record of this.#records) story.note(record.atUs, record);
    const failures: Record<string, number> = {};
    for (const { kind, outcome } of [...history.of('refused'), ...history.of('ended')]) {
      if (kind === 'refused' || outcome !== 'released')
        failures[outcome] = (failures[outcome] ?? 0) + 1;
    }
    return {
      sections: begun - this.#begunBefore,
      tookMs: this.#tookMs,
      longestWaitMs: history.waits.reduce(
        (longest, { fromUs, untilUs }) => Math.max(longest, (untilUs - fromUs) / 1_000),
        0,
      ),
      failures,
      faults: this.#injector.counts,
      findings,
    };
  }
}
