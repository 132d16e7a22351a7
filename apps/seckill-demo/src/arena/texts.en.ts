import type { Cell } from './cell.js';
import type { LoadResult } from './load-result.js';
import type { PartResult } from './parts/part.js';
import type { Texts } from './texts.js';

export const english: Texts = {
  privateRedis: (port) => `Private Redis on 127.0.0.1:${port}.`,
  foreignRedis: (prefix) =>
    `Using the Redis at REDIS_URL, under the prefix ${prefix}, and removing only those keys. ` +
    'No fault stops Redis, so all faults run.',
  cannotRecord: (reason) => `--record cannot write its file: ${reason}`,
  pageAt: (url) => `Watch it at ${url}`,
  redisUnreachable: (reason) => `the Redis at REDIS_URL cannot be used: ${reason}`,
  privateDatabase: (port) => `Private Postgres on 127.0.0.1:${port}.`,
  foreignDatabase: (schema) =>
    `Using the Postgres at DATABASE_URL, in the new schema ${schema}, and removing only that.`,
  databaseUnreachable: (reason) => `the Postgres at DATABASE_URL cannot be used: ${reason}`,
  cell: titleOf,
  duelVerdict: ({ strategy, sold, stock, oversold }) =>
    `${strategy}: sold ${sold} of ${stock}${oversold > 0 ? `, ${oversold} oversold` : ''}.`,

  loadTitle: (stock, buyers) =>
    `The rush: ${stock} in stock, ${buyers} buyers at once, one attempt each`,
  loadColumns: [
    'strategy',
    'sold',
    'over\nsold',
    'under\nsold',
    'books\ndiff',
    'sent\naway',
    'sold\nper s',
    'p50\nms',
    'p99\nms',
    'verdict',
  ],
  processes: (number) => `With ${count(number, 'process', 'es')}:`,
  verdict: verdictOf,
  loadNotes: `sold: buyers whose answer says that they got a piece. oversold: pieces sold
beyond the stock. undersold ("Left 99 unsold"): pieces left although buyers were
sent away. books diff: orders on record minus pieces sold by the stock counter.
sent away: the product was sold out, or another buyer was buying. p50, p99: the
time, from the opening of the doors, until 50 % and 99 % of the buyers have an
answer. If a strategy is expected to fail, the arena holds its first orders
between read and write until the failure is certain.`,
  costTitle: 'The cost of an order in Redis, and whether buyers buy in order of arrival:',
  costColumns: [
    (processes) => `commands\nper order,\n${count(processes, 'process', 'es')}`,
    (processes) => `overtaken,\n% of pairs,\n${count(processes, 'process', 'es')}`,
  ],
  costNotes: `commands: all commands that Redis ran for a buyer, including those in scripts.
overtaken: pairs of buyers who did not buy in the order of their requests; 0 is
a queue, 50 is chance. fair: in the order of its queue in Redis, where its
promise begins. -: two buyers bought the same piece, or fewer than two bought.`,
  strategyTitle: 'The strategies; up to redis-lock, each fixes a flaw of the one before:',
  strategies: {
    naive: 'no lock',
    'in-process': 'a mutex in the memory of each process',
    setnx: 'SETNX; a caller that does not get the lock leaves',
    'setnx-expire': 'SETNX, then EXPIRE',
    'set-nx-px': 'both in one command: SET with NX and PX',
    'owner-check': 'the key names its owner, who checks it (GET) before the DEL',
    'lua-release': 'check and delete in one script',
    'redis-lock': 'this library: waits, renews the lease, checks before the write',
    fair: 'this library, in order of arrival',
    'lock-in-tx': 'as redis-lock, but released before the transaction commits',
    fenced: 'as redis-lock, and the database refuses a late write',
    'sql-update': 'no lock in Redis: UPDATE … WHERE stock > 0',
    'lua-decrement': 'no lock: a counter in Redis, then sql-update',
    redlock: 'the library redlock 5 (beta), one Redis',
    'redis-semaphore': 'the library redis-semaphore 5, its mutex',
  },

  faultTitle: 'The faults, and the state of the sale afterwards',
  faultColumn: 'strategy',
  faults: {
    'killed-in-section': 'killed\nin the\nsection',
    'killed-before-expire': 'killed\nbetween\nSETNX and\nEXPIRE',
    'slow-work': 'work\nlonger than\nthe lease',
    'lease-ends-before-del': 'lease ends\nbetween GET\nand DEL',
    frozen: 'frozen\nbeyond\nthe lease',
  },
  outcomes: {
    ok: 'ok',
    refused: 'refused',
    stuck: 'STUCK',
    'foreign-delete': 'FOREIGN DELETE',
    oversold: 'OVERSOLD',
    'stale-write': 'STALE WRITE',
    'lost-piece': 'LOST',
    none: '-',
    error: 'ERROR',
  },
  faultNotes: `STUCK: no buyer can ever buy again. FOREIGN DELETE: the late holder deleted the
lock of the next holder. OVERSOLD: more orders than pieces. STALE WRITE: the
late holder overwrote a newer stock, and the stock is wrong. LOST: the product
is sold out, but one piece was never sold. refused: the check before the write,
or the database, refused the late write; the books are right. -: no lock in
Redis, or the same lock as redis-lock. A strategy without SETNX and EXPIRE is
killed right after it acquires the lock. A strategy without GET and DEL is held
right before it releases the lock. sql-update locks a row: while its process is
frozen, other buyers get the answer "busy".`,

  partTitle: 'The rest of the sale, and the locks for it',
  partColumns: ['part', 'lock', 'without it', 'with it'],
  partLocks: {
    queue: 'fair lock',
    opening: 'latch',
    payment: 'semaphore',
    offer: 'read-write lock',
    cart: 'multi lock',
    ticket: 'rate limit',
    report: '@CronLock',
    fence: 'fencing token',
  },
  partFigures: figuresOf,
  partNotes: `queue: 20 buyers arrive one by one; inverted: pairs of them who did not buy in
order of arrival, measured and not promised without the fair lock. opening:
orders sold while one process was not ready (early), and afterwards. payment: a
gateway that takes five buyers at a time; thrown out: buyers beyond these five.
offer: buyers read price and stock while both change; torn: buyers who saw an
old price with new stock; at once: buyers who read at the same time. cart: one
buyer wants A and B, another B and A; each holds the lock that the other waits
for. gave up: buyers whose waiting time was over; the other one may then buy.
ticket: a visitor may try five times in ten seconds, and tries in each process.
report: a nightly job is due in all processes at once. fence: a process freezes
between assertHeld() and its write of the price 99; its lease expires, and
another process writes 49.`,

  checkPassed: (compared, measured, seconds) =>
    `check passed: ${compared} cells as expected` +
    `${measured > 0 ? `, ${measured} only measured` : ''}, ${seconds} s`,
  checkFailed: (mismatches, seconds) =>
    `check FAILED: ${count(mismatches, 'cell')} not as expected, ${seconds} s`,
  mismatch: ({ cell, expected, outcome }) =>
    `  ${titleOf(cell)}: expected "${expected}", saw "${outcome}"`,

  tutorialLines: `10 in stock, 11 buyers. The log lines mean:
  扣减成功，剩余库存：9    sold, 9 left
  获取锁失败，请重新尝试   lock not acquired, try again
  扣减失败，剩余库存不足   not sold, nothing left`,
  lesson: (number, title, chapter) =>
    `${number}. ${title} (${chapter === undefined ? 'beyond the tutorial' : `chapter ${chapter}`})`,
  flaw: (isHarm, cell, why) => `${isHarm ? 'Flaw' : 'Holds'} (${titleOf(cell)}): ${why}`,
  serving: ({ url, pids, product, curls }) =>
    `Selling ${product.stock} pieces of product ${product.id} at ${url} (processes ${pids.join(', ')}). Try:\n` +
    curls.map((curl) => `  ${curl}\n`).join('') +
    'Ctrl-C stops everything.',
  portTaken: (port) => `Port ${port} is in use; the demo takes another port.`,
  replaced: (pid) => `Process ${pid} ended; a new process replaces it.`,
  stopping: 'Stopping.',
};

function verdictOf(result: LoadResult): string {
  switch (result.outcome) {
    case 'oversells':
      return `Sold ${result.oversold} too many.`;
    case 'undersells':
      return `Left ${result.undersold} unsold.`;
    case 'miscounts':
      return `Count is ${Math.abs(result.ledgerDifference)} off.`;
    case 'breaks':
      return `No answer for ${result.failed}.`;
    case 'exact':
      return result.sold < result.stock ? 'All buyers got one.' : 'Sold out exactly.';
  }
}

function figuresOf(result: PartResult): string {
  switch (result.part) {
    case 'queue':
      return `${result.inversions} inverted, ${result.buyers} buyers`;
    case 'opening':
      return `${result.early} early, ${result.sold} after`;
    case 'payment':
      return `${result.paid} paid, ${result.refused} thrown out`;
    case 'offer':
      return `${result.torn} torn, ${result.together} at once`;
    case 'cart':
      return `${result.sold} sold, ${result.stuck} gave up`;
    case 'ticket':
      return `${result.letIn} let in, limit ${result.limit}`;
    case 'report':
      return `${count(result.runs, 'run')}, ${count(result.processes, 'process', 'es')}`;
    case 'fence':
      return `price ${result.price / 100}, ${result.outcome === 'refused' ? 'kept' : 'written late'}`;
  }
}

function titleOf(cell: Cell): string {
  switch (cell.kind) {
    case 'duel':
      return `${cell.strategy}: the duel`;
    case 'rush':
      return `${cell.strategy}: the rush, ${count(cell.processes, 'process', 'es')}`;
    case 'fault':
      return `${cell.strategy}: ${english.faults[cell.fault].replaceAll('\n', ' ')}`;
    case 'part':
      return `${cell.part}: ${cell.withLock ? 'with' : 'without'} the ${english.partLocks[cell.part]}`;
  }
}

function count(number: number, thing: string, plural = 's'): string {
  return `${number} ${thing}${number === 1 ? '' : plural}`;
}
