import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { eventually } from '../../support/eventually.js';
import { FaultProxy } from '../../support/fault-proxy.js';
import { ENDLESS } from '../../support/lock-client.js';
import type { Random } from '../../support/random.js';
import type { RedisFixture } from '../../support/redis-server.js';
import type { PlantedBug } from '../../support/workers/crowd.worker.js';
import { findingsIn } from './contest-checks.js';
import { ContestHistory, type HistoryRecord } from './contest-history.js';
import { LOCKS, type ContestPlan, type PlannedPost } from './contest-plan.js';
import { BEGUN, writesOf } from './counters.js';
import { FaultInjector } from './fault-injector.js';
import { faultSchedule } from './fault-schedule.js';
import { Fleet, type FleetPlan, type Staff } from './fleet.js';
import type { Story } from './history.js';
import { readJournal } from './journal.js';
import { KeyWatch } from './key-watch.js';
import { within } from './lab.js';
import { pause } from './pace.js';

const SLACK_MS = 5_000;
/** Watchdogs renew at every third of a lease. */
const QUIET_PART = 2 / 3;
const LONGEST_QUIET_MS = 700;
const QUIET_WITHIN_MS = 2_500;
/** It ends by itself. */
const LASTS = /^nestjs_lock_opened:/;
/** So often is looked at what was found so far. */
const LOOK_EVERY_MS = 100;
/** If no caller begins a section for so long beyond `idleMs`, something is wrong. */
const STUCK_MS = 500;

export interface Contest {
  readonly plan: ContestPlan;
  readonly staff: Staff;
  readonly redis: RedisFixture;
  /** A Redis of its own, that no fault touches and that knows nothing of locks. */
  readonly referee: RedisFixture;
  readonly story: Story;
  readonly random: Random;
  readonly sections: number;
  /** How long all of them may take, and whatever comes after them. */
  readonly withinMs: number;
  /** The bug that is planted in the library. */
  readonly bug?: PlantedBug;
  /** Whether there is no need to go on: what it is about has been found. */
  readonly isFound?: (findings: readonly string[]) => boolean;
}

export interface Outcome {
  sections: number;
  tookMs: number;
  longestWaitMs: number;
  /** How the calls ended that did not end well, and how often. */
  readonly failures: Record<string, number>;
  readonly faults: Record<string, number>;
  /** The violations, in words. */
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
  #latest = { begun: -1, at: 0 };
  #look = { at: 0, times: 0 };
  #isStuck = false;
  #isOver = false;
  #tookMs = 0;

  constructor(
    private readonly contest: Contest,
    private readonly proxies: readonly [FaultProxy, FaultProxy],
    folder: string,
  ) {
    const { plan, staff, redis, random } = contest;
    const note = (record: HistoryRecord) => this.#records.push(record);
    const posts = plan.posts.map((post) => this.#post(post, proxies[post.proxy].url));
    this.#fleet = new Fleet({ staff, folder, posts, random: random.fork('fleet'), note });
    this.#injector = new FaultInjector({ redis, proxies, fleet: this.#fleet, locks: LOCKS, note });
  }

  async play(): Promise<Outcome> {
    const { redis, plan } = this.contest;
    const watch = new KeyWatch(redis.admin, LOCKS, (free) => this.#records.push(free));
    this.#begunBefore = await this.#begun();
    plan.prevailing?.(this.proxies);
    await this.#fleet.start();
    const startedAt = performance.now();
    this.#latest.at = startedAt;
    await this.#try('the work', () => this.#work());
    this.#isOver = true;
    await this.#try('the end of the faults', () => this.#injector.end());
    // Waiters of a broken contest may wait in vain: their applications are closed, and not stopped before.
    const isBroken = this.#isStuck || this.#look.times > 0;
    if (!isBroken) await this.#try('the end of the work', () => this.#fleet.stop());
    this.#tookMs = performance.now() - startedAt;
    await watch.stop();
    const isFine = !isBroken && this.#findingsIn(this.#history()).length === 0;
    if (isFine) await this.#try('what is left', () => this.#nothingIsLeft());
    await this.#try('the end of the processes', () => this.#fleet.end());
    await this.#try('the subscriptions that are left', () =>
      eventually(async () => (await redis.admin.pubsub('CHANNELS')).length === 0),
    );
    await this.#judgeWrites();
    return this.#outcome(await this.#begun());
  }

  #post({ applications = 1, work }: PlannedPost, url: string): FleetPlan['posts'][number] {
    const { plan, redis, referee, bug } = this.contest;
    const { settings, isSetBack = false } = plan;
    const lockUrls = Array.from({ length: applications }, () => url);
    const opening = { lockUrls, refereeUrl: referee.url, witnessUrl: redis.url, settings };
    return {
      opening: { ...opening, isSetBack, ...(bug !== undefined && { bug }) },
      work: { ...work, guard: 'token' },
    };
  }

  /** Goes on until there were enough sections, or no caller has begun one for too long. */
  async #work(): Promise<void> {
    const { random, sections, plan } = this.contest;
    const schedule = faultSchedule(random.fork('faults'), plan.faults, plan.pace);
    const end = this.#begunBefore + sections;
    for (;;) {
      const fault = schedule.next().value;
      const begun = await this.#begun();
      await this.#reach(Math.min(end, begun + fault.afterSections));
      if (begun >= end || this.#isOver || this.#isStuck || this.#isFound()) return;
      await pause(fault.afterMs);
      await this.#injector.inject(fault);
    }
  }

  async #reach(sections: number): Promise<void> {
    while ((await this.#begun()) < sections && !this.#isOver && !this.#isStuck) await pause(5);
  }

  async #begun(): Promise<number> {
    const begun = Number(await this.contest.referee.admin.get(BEGUN));
    const now = performance.now();
    if (begun !== this.#latest.begun) this.#latest = { begun, at: now };
    const { idleMs } = this.contest.plan.limits;
    if (now - this.#latest.at > idleMs + STUCK_MS) this.#isStuck = true;
    return begun;
  }

  /** Twice, since what explains the first may not be written down yet. */
  #isFound(): boolean {
    const { isFound } = this.contest;
    const now = performance.now();
    if (isFound === undefined || now - this.#look.at < LOOK_EVERY_MS) return false;
    const found = isFound(this.#findingsIn(this.#history()));
    this.#look = { at: now, times: found ? this.#look.times + 1 : 0 };
    return this.#look.times > 1;
  }

  /** Tokens live on, and for a moment it is known when the lock was left to outsiders. */
  async #nothingIsLeft(): Promise<void> {
    const { redis, plan } = this.contest;
    const { admin } = redis;
    const isFree = async () => {
      const keys = await admin.keys('*');
      const ttls = await Promise.all(keys.map((key) => admin.pttl(key)));
      const left = keys
        .filter((key, i) => !LASTS.test(key) || ttls[i] === -1)
        .filter((key) => !ENDLESS.test(key));
      if (left.length > 0) throw new Error(left.join(', '));
    };
    await eventually(isFree, { withinMs: plan.longestLeaseMs + SLACK_MS });
    await eventually(() => this.#isQuiet(), { withinMs: QUIET_WITHIN_MS });
  }

  /** No client holds a lock or waits for one, so no client sends a script to Redis. */
  async #isQuiet(): Promise<boolean> {
    const { redis, plan } = this.contest;
    const quietMs = Math.min(LONGEST_QUIET_MS, QUIET_PART * plan.settings.watchdogLeaseMs);
    const during = await redis.commandsDuring(() => pause(quietMs));
    const scripts = (during.evalsha ?? 0) + (during.eval ?? 0);
    if (scripts > 0) throw new Error(`${String(scripts)} scripts for locks that no owner holds`);
    return true;
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

  /** Up to now. */
  #history(): ContestHistory {
    const told = this.#fleet.journals.flatMap((journal, process) =>
      readJournal(journal).map((entry) => ({ ...entry, process })),
    );
    return new ContestHistory([...this.#records, ...told]);
  }

  #findingsIn(history: ContestHistory): string[] {
    return [...this.#findings, ...findingsIn(history, this.contest.plan.limits)];
  }

  #outcome(begun: number): Outcome {
    const { story } = this.contest;
    const history = this.#history();
    const findings = this.#findingsIn(history);
    if (findings.length > 0) for (const record of history.records) story.note(record.atUs, record);
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
