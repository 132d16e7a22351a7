import type { JavaObject, JavaValue } from './redisson.js';
import { MS } from './sides.js';
import type { Stage } from './stage.js';

/** Redisson alone plays these scenarios, per primitive; the lock is called `a`. */
export type Scenarios = Readonly<Record<string, Scenario>>;
export type Scenario = (stage: Stage) => Promise<void>;

/**
 * Steps such as `A tryLock(0, 60000, ms)`, or of another object than the first
 * `A writeLock.tryLock`; `B waits: lock`, `B pauses`, `B goes on`; a key `ends`, or a score of one.
 */
function played(object: JavaObject, scenarios: Readonly<Record<string, string>>): Scenarios {
  const plays = Object.entries(scenarios).map(([name, steps]): [string, Scenario] => [
    name,
    async (stage) => {
      for (const step of steps.split(';')) await play(stage, object, step.trim());
    },
  ]);
  return Object.fromEntries(plays);
}

async function play(stage: Stage, first: JavaObject, step: string): Promise<void> {
  const ended = /^ends (?:(<.+>) of )?(.+)$/.exec(step);
  if (ended) {
    const [, member, key = ''] = ended;
    await (member === undefined ? stage.ends(key) : stage.lapses(key, member));
    return;
  }
  const [thread = ''] = step;
  const what = step.slice(2);
  if (what === 'pauses') stage.pause(thread);
  else if (what === 'goes on') await stage.goesOn(thread);
  else {
    const call = /^(waits: )?(?:(\w+)\.)?(\w+)(?:\((.*)\))?$/.exec(what);
    if (!call) throw new Error(`"${step}" is no step`);
    const [, waits, object = first, method = '', args = ''] = call;
    const calls = waits === undefined ? stage.call : stage.waits;
    await calls.call(stage, thread, object as JavaObject, method, ...valuesOf(args));
  }
}

function valuesOf(args: string): JavaValue[] {
  const list = /^\[(.*)\]$/.exec(args);
  if (list) return [valuesOf(list[1] ?? '')];
  return args === '' ? [] : args.split(', ').map(valueOf);
}

function valueOf(text: string): JavaValue {
  if (text === 'ms') return MS;
  return /^-?\d{1,9}$/.test(text) ? Number(text) : text;
}

const both = ['multiLock', ['a', 'b']] as const;
const multiLock: Scenarios = {
  'both are taken and released': async (stage) => {
    await stage.call('A', both, 'lock');
    await stage.call('A', both, 'tryLock');
    await stage.call('A', both, 'unlock');
    await stage.call('A', both, 'unlock');
  },
  'with a lease of its own': async (stage) => {
    await stage.call('A', both, 'tryLock', 5_000, 60_000, MS);
    await stage.call('A', both, 'unlock');
  },
  'one of them is taken': async (stage) => {
    await stage.call('B', ['lock', 'b'], 'lock');
    await stage.call('A', both, 'tryLock');
    await stage.call('B', ['lock', 'b'], 'unlock');
  },
};

export const SCENARIOS: Readonly<Record<string, Scenarios>> = {
  lock: played('lock', {
    'taken, entered again, released':
      'A lock; A lock; B tryLock; A unlock; B unlock; A unlock; A unlock',
    'with a lease of its own':
      'A tryLock(0, 60000, ms); A tryLock(0, 20000, ms); A unlock; A unlock',
    'waited for': 'A lock; B waits: lock; B pauses; A unlock; B goes on; B unlock',
    'ended by its lease': 'A tryLock(0, 20000, ms); ends a; B tryLock; A unlock; B unlock',
    'ended by force': 'A lock; A lock; B forceUnlock; B forceUnlock; A unlock',
  }),
  'fair-lock': played('fairLock', {
    'taken, entered again, released': 'A lock; A lock; B tryLock; A unlock; A unlock',
    'two wait, and get in by their turn': `
      A lock; B waits: lock; C waits: tryLock(60000, ms); D tryLock; B pauses; A unlock;
      D tryLock; B goes on; C pauses; B unlock; C goes on; C unlock`,
    'the first in the queue gives up': `
      A lock; C waits: tryLock(3000, ms); B waits: lock; C goes on; B pauses; A unlock;
      B goes on; B unlock`,
    'the first in the queue is dead': `
      A tryLock(0, 5000, ms); B waits: lock; B pauses; ends <B> of redisson_lock_timeout:{a};
      A unlock; C tryLock; C unlock; B goes on; B unlock`,
    'ended by its lease, and released late':
      'A tryLock(0, 20000, ms); B waits: lock; B pauses; ends a; A unlock; B goes on; B unlock',
    'ended by force':
      'A lock; B waits: lock; B pauses; C forceUnlock; C forceUnlock; B goes on; B unlock',
  }),
  'read-write-lock': played('readLock', {
    'two readers': `
      A readLock.lock; B readLock.lock; A readLock.lock; C writeLock.tryLock;
      A writeLock.tryLock; A readLock.unlock; A readLock.unlock; A readLock.unlock;
      B readLock.unlock`,
    'readers with leases of their own': `
      A readLock.tryLock(0, 60000, ms); B readLock.tryLock(0, 20000, ms); A readLock.unlock;
      B readLock.unlock`,
    'a dead reader': `
      A readLock.tryLock(0, 60000, ms); B readLock.tryLock(0, 20000, ms);
      ends {a}:<B>:rwlock_timeout:1; A readLock.unlock`,
    'a writer': `
      A writeLock.lock; A writeLock.lock; B writeLock.tryLock; B readLock.tryLock;
      A writeLock.unlock; A writeLock.unlock; A writeLock.unlock`,
    'a writer reads, and goes on as a reader': `
      A writeLock.lock; A readLock.lock; B readLock.tryLock; A writeLock.unlock;
      B readLock.tryLock; A readLock.unlock; B readLock.unlock`,
    'a writer reads, and goes on as a writer':
      'A writeLock.lock; A readLock.lock; A readLock.unlock; A writeLock.unlock',
    'waited for': `
      A writeLock.lock; B waits: readLock.lock; B pauses; A writeLock.unlock; B goes on;
      C waits: writeLock.lock; C pauses; B readLock.unlock; C goes on; C writeLock.unlock`,
    'ended by force': `
      A readLock.lock; C writeLock.forceUnlock; C readLock.forceUnlock; A writeLock.lock;
      C readLock.forceUnlock; C writeLock.forceUnlock; C writeLock.forceUnlock`,
  }),
  semaphore: played('semaphore', {
    'set, acquired, released': `
      A tryAcquire; A trySetPermits(3); A trySetPermits(5); A acquire(2); A tryAcquire(2);
      A tryAcquire; A release; A release(2); A availablePermits`,
    'waited for':
      'A trySetPermits(1); B waits: acquire(3); A release; B pauses; A release; B goes on',
    'more permits, fewer permits, none': `
      A trySetPermits(1); A addPermits(4); A addPermits(-2); A drainPermits; A drainPermits;
      A addPermits(-1)`,
    'released before it is set': 'A release(2); A trySetPermits(5)',
    'released if it exists': 'A releaseIfExists(2); A trySetPermits(1); A releaseIfExists(2)',
  }),
  'expirable-semaphore': played('permitExpirableSemaphore', {
    'set, acquired, released': `
      A tryAcquire; A trySetPermits(3); A trySetPermits(5); A acquire; A acquire(60000, ms);
      A availablePermits; A updateLeaseTime(<permit 2>, 20000, ms); B release(<permit 1>);
      B tryRelease(<permit 1>); B tryRelease(<permit 2>)`,
    'ended by their lease': `
      A trySetPermits(2); A acquire(20000, ms); A acquire(20000, ms);
      ends <permit 1> of {a}:timeout; B tryAcquire(0, 60000, ms); A tryRelease(<permit 1>);
      ends <permit 2> of {a}:timeout; A tryRelease(<permit 2>); ends <permit 3> of {a}:timeout;
      A availablePermits`,
    'waited for': `
      A trySetPermits(1); A acquire; B waits: acquire; B pauses; A release(<permit 1>);
      B goes on; B release(<permit 2>)`,
    'more permits': 'A addPermits(2); A acquire; A addPermits(3); A addPermits(-1)',
    'another capacity, while some are held': `
      A setPermits(3); A acquire; A acquire; A setPermits(5); A getPermits; A acquiredPermits;
      A setPermits(1); A availablePermits; A tryRelease(<permit 1>); A tryRelease(<permit 2>)`,
    'several at once': `
      A trySetPermits(3); A acquire(2); B tryAcquire(2); B acquire(1, 60000, ms);
      A tryRelease([<permit 1>, 00000000000000000000000000000000]);
      A tryRelease([<permit 1>, <permit 2>]); B getLeaseTime(<permit 1>);
      B tryRelease([<permit 3>])`,
  }),
  'count-down-latch': played('countDownLatch', {
    'set, counted down, opened': `
      A trySetCount(2); A trySetCount(3); A countDown; A getCount; B waits: await; B pauses;
      A countDown; B goes on; A countDown; A getCount; A trySetCount(1)`,
    deleted: 'A trySetCount(2); A delete; A delete; A await(1, ms)',
  }),
  'fenced-lock': played('fencedLock', {
    'a token for each grant': `
      A lockAndGetToken; A lock; A getToken; B tryLock; B tryLockAndGetToken(0, 20000, ms);
      A unlock; A unlock; B tryLockAndGetToken(0, 20000, ms); B unlock`,
    'a token after a release by force':
      'A lockAndGetToken; B forceUnlock; B lockAndGetToken; B unlock',
  }),
  'multi-lock': multiLock,
};
